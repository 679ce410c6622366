// One queue of the manager with the controllers that share it: what all queues have in common.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "isthmus/app/manager.h"
#include "isthmus/base/metrics.h"
#include "isthmus/kube/controller.h"

namespace isthmus::app {

// A run that outlives its own timeout by this long means that something does not let itself be
// cancelled.
inline constexpr Duration kStuckRunGrace = std::chrono::minutes(1);

struct PartContext;

// A resource; the context and the reconcilers outlive it.
class ControllerPart {
 public:
  // One of the controllers, by its name (controller_names.h).
  struct Member {
    std::string_view controller;
    std::reference_wrapper<kube::Reconciler> reconciler;
  };

  // The members run for a key in this order; one that the leader migration moves begins to when
  // its lease is won.
  ControllerPart(kube::ControllerOptions options, std::vector<Member> members,
                 const PartContext& context);
  ~ControllerPart();

  kube::Controller& queue() { return queue_; }
  const kube::Controller& queue() const { return queue_; }

  // The names of its controllers, in their order.
  std::vector<std::string_view> names() const;

  // Whether all of them wait for the migration's lease, so that there is nothing to run before.
  // The same before and after it is won: under which lease they start does not change.
  bool waits_for_migration() const;

  // The migration's lease is won: those that waited for it get the keys that passed them by.
  void begin_migrated();

  void set_running(bool running);
  bool is_running() const { return is_running_; }

  // The queue has ended though nobody asked it to: check() says so from now on.
  void set_failed(Error why) { failure_ = std::move(why); }

  // lost: it has failed, or an object has been worked on for longer than its timeout.
  Result<> check() const;

 private:
  const kube::ControllerOptions options_;
  class Waiting;
  struct Place {
    std::string_view controller;
    std::unique_ptr<Waiting> waiting;  // Null: it does not wait for the migration's lease.
    std::reference_wrapper<kube::Reconciler> reconciler;
    std::reference_wrapper<Gauge> running;
  };
  static std::vector<Place> places_of(const std::vector<Member>& members,
                                      const PartContext& context);
  static std::vector<std::reference_wrapper<kube::Reconciler>> reconcilers_of(
      const std::vector<Place>& places);
  void show_running();

  const std::vector<Place> places_;
  kube::Controller queue_;
  bool is_running_ = false;
  std::optional<Error> failure_;
};

}  // namespace isthmus::app
