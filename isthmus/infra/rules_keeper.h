// The rules of load balancers in this host's kernel: many changes at once as one plan, apart where
// one of them cannot be carried out, so that it stops nobody else.
#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "isthmus/infra/drivers/kernel_events.h"
#include "isthmus/infra/kernel_view.h"

namespace isthmus::infra {

struct RulesWork {
  struct Change {
    ObjectName name;
    std::optional<drivers::Balancer> balancer;  // Nothing: it goes.
  };
  std::vector<Change> changes;
  // Listeners that become just this, whatever they are; a default one goes.
  std::map<drivers::ListenerKey, drivers::HeldListener> restored;
  std::set<IpAddress> guarded;    // Become so, besides those of the changes.
  std::set<IpAddress> unguarded;  // Are nobody's any more.
  std::set<IpAddress> stuck;      // Are still bound: what stands on them stays.
  std::vector<IpPrefix> links;    // As they should be.
  // Listeners that others serve by now: they do not go with whom the kernel names with them.
  using Claims = std::map<drivers::ListenerKey, ObjectName>;
  const Claims* claims = nullptr;

  RulesWork without_changes() const;
};

// A resource; its doors outlive it.
class RulesKeeper {
 public:
  using Failures = std::map<ObjectName, Error>;

  RulesKeeper(drivers::BalancerDriver& driver, drivers::ChangeSource& changes)
      : driver_(driver), changes_(changes) {}

  // Reads what the kernel holds. What differs from what was known is added to the drift. Errors of
  // BalancerDriver::observe; after a conflict nothing there is ours, after others what was known
  // stays.
  Result<> look();

  // What the kernel told of others' changes since the last call.
  drivers::KernelChanges take_changes();

  // What was not of our doing since the last call.
  KernelDrift take_drift() { return std::exchange(drift_, {}); }

  const KernelView& kernel() const { return view_; }

  // Which of the changes no driver could carry out, and why: they are taken out of the work.
  Failures refuse(RulesWork& work) const;

  // Carries the work out, with what others changed meanwhile looked at again, and answers what
  // failed, by load balancer. Errors are those of BalancerDriver::apply; what was done stays done,
  // and what was not is as it was.
  struct Applied {
    Failures failures;
    std::optional<Error> error;  // Of all, or of what is no load balancer's.
  };
  Applied apply(RulesWork work);

 private:
  Result<drivers::Plan> plan(const RulesWork& work) const;
  Applied apply_apart(RulesWork work, Error error);
  Result<> carry_out(const drivers::Plan& plan);
  void listen();

  drivers::BalancerDriver& driver_;
  drivers::ChangeSource& changes_;
  drivers::KernelChanges told_;
  KernelView view_;
  bool seen_ = false;
  KernelDrift drift_;
};

}  // namespace isthmus::infra
