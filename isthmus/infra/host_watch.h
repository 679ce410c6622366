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

  // Answers whom it concerns that something differs; it is counted as a repair, which is then to be
  // made. What stays as it is (`staying`) is put back by the leftovers.
  Names look(const Names& staying);

  // Why no rule can be loaded at all.
  const std::optional<Trouble>& trouble() const { return trouble_; }

  // The last look() did not see everything.
  bool failed() const { return failed_; }

  // Changes that are no load balancer's, to be made with the next ones.
  RulesWork leftovers;

 private:
  void see(const KernelDrift& drift, Names& concerned);
  void see(const KernelDrift::Listener& listener, Names& concerned);
  void find_bare_addresses();
  void repair(const ObjectName& name, std::string_view kind, std::string what, Names& concerned);
  void count_repair(std::string_view kind);

  Doors doors_;
  std::optional<Trouble> trouble_;
  bool failed_ = false;
  const Names* staying_ = nullptr;  // During look().
};

}  // namespace isthmus::infra
