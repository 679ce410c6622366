// Brings the load balancers of the book onto this host, and takes off it those that leave: rules,
// health checks, addresses and announcements, in the order that is safe at every step.
//
// Adding goes rules, checks, address, announcement; removing goes announcement, address, rules. So
// at any moment, and wherever the process is cut off, an address that is bound has its rules, and
// nothing is served that no rule guards. Flows of TCP that are established when rules go are
// tracked by the kernel and end in peace.
//
// Nothing here waits. What could not be done is in the book, with the time when it is due again.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "isthmus/base/clock.h"
#include "isthmus/base/log.h"
#include "isthmus/base/metrics.h"
#include "isthmus/base/random.h"
#include "isthmus/infra/address_keeper.h"
#include "isthmus/infra/balancer_book.h"
#include "isthmus/infra/health_checker.h"
#include "isthmus/infra/host_watch.h"
#include "isthmus/infra/rules_keeper.h"

namespace isthmus::infra {

// A resource; its doors outlive it.
class BalancerKeeper {
 public:
  using Names = BalancerBook::Names;

  struct Doors {
    BalancerBook& book;
    RulesKeeper& rules;
    AddressKeeper& addresses;
    HealthChecker& health;
    const std::set<ObjectName>& abandoned;  // Orphans that an administrator or their owner gave up.
    const Clock& clock;
    Random& random;
    Metrics& metrics;
    Logger& log;
    HostRole role;
  };

  explicit BalancerKeeper(Doors doors);

  // As HostWatch says.
  Result<> start();
  Names look_at_rules() { return watch_.look_at_rules(staying_); }
  Names look_at_addresses();
  bool rules_not_seen() const { return watch_.rules_not_seen(); }
  bool addresses_not_seen() const { return watch_.addresses_not_seen(); }

  // Before any of these is worked on, though perhaps not at once: they let go of the listeners they
  // do not serve any more, and have a claim on the addresses they will use. So whoever comes first
  // finds free what another one leaves, and nothing is taken for left that another one will need.
  void prepare(const Names& names);

  // Does for these whatever is due, with everything else that is nobody's.
  void work(const Names& names);

  // Whether something failed that is no load balancer's own, and work() should be tried again now.
  bool has_leftovers() const;

  // Those whose rules are to be looked at, for the first time or again after a failure.
  Names take_due();
  bool anybody_due() const;

  // Those that are asked to leave and of which the host holds nothing any more. Clears the list.
  Names take_gone() { return std::exchange(gone_, {}); }

  // What the kernel holds that the store does not know, or knows of an older generation only.
  Orphans orphans() const;

  Findings findings(const ObjectName& name, const BookEntry& entry) const;
  std::vector<api::TargetStatus> target_health(const ObjectName& name) const;

  // The listeners that keep their clients' addresses and whose targets are not known to be bad.
  std::set<drivers::ListenerKey> listeners_under_keep() const;

 private:
  enum class Intent {
    serve,
    leave,  // The host should hold nothing of it.
    stay,   // What the kernel holds of it goes on as it is.
  };
  struct Plan;
  class ServedAfter;

  bool take_own_addresses();
  Intent intent(const ObjectName& name, const BookEntry& entry) const;
  Resolution resolved(const BookEntry& entry) const;

  void gather(const Names& names, Plan& plan);
  void claim_listeners(Plan& plan);
  void check_health(const ObjectName& name, BookEntry& entry, Resolution& resolution);
  void stay(const ObjectName& name, BookEntry& entry);
  void refuse(Plan& plan);
  void settle_addresses(Plan& plan);
  void release_abandoned(RulesWork& work, const ServedAfter& served);
  void release_bare(RulesWork& work, const ServedAfter& served);
  bool release(const IpAddress& address, RulesWork& work);
  void apply(Plan& plan);
  void settle(const Plan& plan);
  void settle_leaving(const ObjectName& name, BookEntry& entry, const RulesWork& work);
  void hold_addresses(const ObjectName& name, BookEntry& entry);
  bool is_due(const BookEntry& entry) const;
  void postpone(BookEntry& entry, Trouble trouble);
  void withdraw_everything(RulesWork& work);

  Doors doors_;
  HostWatch watch_;
  std::set<ObjectName> staying_;
  std::set<IpAddress> stuck_;  // It was told that they cannot be released.
  Moment leftovers_again_at_{};
  Names gone_;
};

}  // namespace isthmus::infra
