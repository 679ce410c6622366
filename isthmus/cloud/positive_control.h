// Whether a list of the cloud can be believed: those whom it lacks must not be heard of afterwards,
// and somebody whom it has must be.
//
// A complete list that lacks a live machine looks like any other. But a kubelet that renews its
// Lease is a machine that runs, whatever the cloud says, so after each list the kubelets are looked
// at: from twenty seconds after it ended, for as long as a live one takes to renew. One renewal of
// a machine that the list lacks is a contradiction; none, and one of a Ready Node that it has,
// verifies the list. Where nobody is Ready there is no control, and no list is ever verified. One
// whose control comes too late is neither verified nor held against the cloud.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "isthmus/cloud/deletion_policy.h"

namespace isthmus::cloud {

// A resource.
class PositiveControl final {
 public:
  using Uids = std::set<std::string, std::less<>>;

  // A complete list of the cloud, as far as it concerns the subjects.
  struct View {
    Moment started = {};
    Moment ended = {};
    Uids lacking = {};      // Subjects that it does not have.
    Uids accountable = {};  // Of those, the ones that are old enough for it to know.
    Uids vouchers = {};     // Ready subjects that it has; a few are enough.

    std::optional<Moment> looked_at = {};  // The first look that was late enough.
  };

  // Later than this the subject's kubelet certainly renewed its Lease; nullopt: it was not seen to.
  using RenewedAfter = std::function<std::optional<Moment>(const std::string& uid)>;
  using IsReady = std::function<bool(const std::string& uid)>;

  struct Findings {
    std::vector<std::string> contradicting = {};  // Subjects that live and were lacking.
    std::optional<View> verified = {};            // The newest that is.
    bool unvouched = false;  // A view is over whose control heard of nobody, or came too late.
  };

  // A list is to be verified. Keeps a few; while a cloud lies there is no use for more.
  void begin(View view);

  // The kubelets were looked at.
  Findings look(Moment as_of, const RenewedAfter& renewed_after, const IsReady& is_ready);

  // When the kubelets should be looked at next; nullopt: no list waits.
  std::optional<Moment> next_look() const;

  // Nothing that was begun counts any more.
  void clear() { views_.clear(); }

 private:
  std::deque<View> views_;  // The oldest first.
};

}  // namespace isthmus::cloud
