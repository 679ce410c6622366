// How many Nodes may be deleted in which time: by zone, by cluster, of a control plane, and of what
// a latch has let through. Counts what was deleted, whatever the reason was.
//
// A removal is taken before it is sent, so that two that are decided at the same time cannot both
// have the last place; one that certainly did not happen is given back.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "isthmus/cloud/deletion_policy.h"
#include "isthmus/cloud/deletion_verdict.h"

namespace isthmus::cloud {

struct Removal {
  std::string uid = {};
  std::string zone = {};
  bool control_plane = false;
  bool announced = false;  // Somebody said beforehand that this one goes: no sign of a failure.
  bool slow = false;       // A latch has let it through.

  friend bool operator==(const Removal&, const Removal&) = default;
};

// The Nodes of ours as they are now.
struct Population {
  std::size_t nodes = 0;
  std::size_t control_planes = 0;
  std::size_t control_planes_ready = 0;  // Without the one in question.

  friend bool operator==(const Population&, const Population&) = default;
};

// A resource. Remembers removals for half an hour.
class RemovalBudget final {
 public:
  explicit RemovalBudget(const DeletionPolicy& policy) : policy_(policy) {}

  // What forbids this one now; empty: it may go.
  std::vector<Unmet> refusals(const Removal& removal, const Population& population,
                              Moment now) const;

  void take(Removal removal, Moment now);

  // It was not deleted after all; harmless without one.
  void give_back(std::string_view uid);

  // Deletions within the window, announced ones not counted.
  std::size_t recent(Moment now) const;

 private:
  struct Taken {
    Removal removal;
    Moment at;
  };

  std::optional<Moment> zone_free_at(const std::string& zone, Moment now) const;
  std::optional<Unmet> zone_refusal(const Removal& removal, Moment now) const;
  std::optional<Unmet> cluster_refusal(const Removal& removal, std::size_t nodes, Moment now) const;
  std::optional<Unmet> small_refusal(std::size_t nodes, Moment now) const;
  std::optional<Unmet> control_plane_refusal(const Population& population, Moment now) const;
  std::optional<Unmet> pace_refusal(Moment now) const;

  const DeletionPolicy policy_;
  std::vector<Taken> taken_;  // In the order of time.
};

}  // namespace isthmus::cloud
