// Looks at this host, and finds what differs from what we made: by others' hands, or from before
// our time.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "isthmus/base/clock.h"
#include "isthmus/base/log.h"
#include "isthmus/base/metrics.h"
#include "isthmus/infra/address_keeper.h"
#include "isthmus/infra/balancer_book.h"
#include "isthmus/infra/rules_keeper.h"

namespace isthmus::infra {

// A resource; its doors outlive it.
class HostWatch {
 public:
  using Names = BalancerBook::Names;

  struct Doors {
    BalancerBook& book;
    RulesKeeper& rules;
    AddressKeeper& addresses;
    const Clock& clock;
    Metrics& metrics;
    Logger& log;
  };

  explicit HostWatch(Doors doors) : doors_(doors) {}

  // Before anything is done: enters everybody whom the kernel names, with what it holds of them. A
  // table of our name that is not ours is no error but a trouble(). Otherwise errors of
  // BalancerDriver::observe and AddressBook::observe.
  Result<> start();

  // Reads the rules, or the addresses, again, and answers whom it concerns that something differs;
  // it is counted as a repair, which is then to be made. What stays as it is (`staying`) is put
  // back by the leftovers. They are two, because links come and go all the time on some hosts, and
  // to read 1,000 listeners takes as long as to serve them.
  Names look_at_rules(const Names& staying);
  Names look_at_addresses(const Names& staying);

  // Why no rule can be loaded at all.
  const std::optional<Trouble>& trouble() const { return trouble_; }

  // The last look did not see everything.
  bool rules_not_seen() const { return rules_not_seen_; }
  bool addresses_not_seen() const { return addresses_not_seen_; }

  // Changes that are no load balancer's, to be made with the next ones.
  RulesWork leftovers;

 private:
  // Whom it concerns, and who of them stays as it is.
  struct Sight {
    const Names& staying;
    Names concerned;
  };

  void see(const KernelDrift& drift, Sight& sight);
  void see(const KernelDrift::Listener& listener, Sight& sight);
  void find_bare_addresses();
  void repair(const ObjectName& name, std::string_view kind, std::string what, Sight& sight);
  void note(const ObjectName& name, std::string what, Sight& sight);
  void count_repair(std::string_view kind);

  Doors doors_;
  std::optional<Trouble> trouble_;
  bool rules_not_seen_ = false;
  bool addresses_not_seen_ = false;
};

}  // namespace isthmus::infra
