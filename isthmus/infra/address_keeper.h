// The addresses of load balancers on this host's interfaces, from "should be here" to bound and
// announced; and back.
//
// A new address is asked for on the link first, all that wait at the same time, without holding
// anybody up: hold() only begins, and is called again when moved() says so. One that this host
// holds already, as after a restart, is never asked for. What others hold is not touched.
//
// The one rule its caller keeps: the rules of an address stand before hold() and until release()
// has answered ok, so that no address ever lies bare.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "isthmus/base/backoff.h"
#include "isthmus/base/log.h"
#include "isthmus/base/random.h"
#include "isthmus/base/signal.h"
#include "isthmus/base/task.h"
#include "isthmus/infra/balancer_status.h"
#include "isthmus/infra/drivers/address_probe.h"
#include "isthmus/infra/drivers/announcement_schedule.h"
#include "isthmus/infra/host.h"

namespace isthmus::infra {

// A resource; its doors outlive it.
class AddressKeeper {
 public:
  struct Doors {
    drivers::AddressBook& book;
    drivers::AddressProbe& probe;
    drivers::AnnouncementSchedule& announcements;
    const Clock& clock;
    Random& random;
    Logger& log;
  };

  explicit AddressKeeper(Doors doors) : doors_(doors) {}

  // What look() found to be another than before.
  struct Sight {
    std::vector<IpAddress> lost;    // Ours, from the interface where they were.
    bool networks_changed = false;  // Others may belong on another interface now.
    bool links_changed = false;     // One that holds addresses of ours went down, or came back.
  };

  // Reads what all interfaces have. What is found with our mark counts as held from now on. Errors
  // of AddressBook::observe; what was known stays.
  Result<Sight> look();

  // Brings the address a step further, as far as that goes now, and answers what is in its way;
  // nothing: it is bound, and announced. `fallback` is the pool's interface, for an address that
  // none of this host's connected prefixes contains. Where no interface can be told, an address
  // that is bound stays.
  std::optional<Trouble> hold(const IpAddress& address, const std::string& fallback);

  // As hold(), on whichever interface it is.
  std::optional<Trouble> hold_where_it_is(const IpAddress& address);

  // The next hold() tries at once what waits for another try.
  void retry(const IpAddress& address);

  // It is neither announced nor bound any more; ok also where it was not. An error of
  // AddressBook::unbind: it is still bound, and announced again by the next hold().
  Result<> release(const IpAddress& address);

  // Those bound with our mark, and where.
  const std::map<IpAddress, std::string>& bound() const { return bound_; }

  // What hold() should be called for again: probes that ended, and tries that are due. Clears the
  // signal.
  std::set<IpAddress> take_moved();
  Signal& moved() { return moved_; }
  bool is_due() const;

  // What the interfaces have besides, as the last look() saw it.
  const std::vector<drivers::InterfaceAddress>& others() const { return others_; }

  // The connected prefixes of this host, disjoint, as drivers::Wish takes them.
  std::vector<IpPrefix> links() const;

  // Asks for what waits, until its scope ends.
  Task<Result<>> run();

 private:
  struct Waiting {
    std::string interface;
    bool probing = false;
    std::optional<Result<std::optional<drivers::Claim>>> answer;
    std::optional<Trouble> trouble;
    unsigned failures = 0;
    Moment again_at{};
  };

  std::optional<Trouble> hold_on(const IpAddress& address, const std::string& interface);
  std::optional<Trouble> move(const drivers::BoundAddress& to);
  std::optional<Trouble> advance(const drivers::BoundAddress& address, Waiting& waiting);
  std::optional<Trouble> take_answer(const drivers::BoundAddress& address, Waiting& waiting);
  std::optional<Trouble> bind(const drivers::BoundAddress& address, Waiting& waiting);
  std::optional<Trouble> postpone(Waiting& waiting, Duration delay, Trouble trouble);
  Trouble not_bound(const drivers::BoundAddress& address, const Error& error) const;
  void announce(const drivers::BoundAddress& address);
  bool is_due(const Waiting& waiting) const;
  std::optional<Trouble> held_on(const IpAddress& address, const std::string& interface);
  const drivers::InterfaceAddress* theirs(const IpAddress& address) const;
  Task<Result<>> probe(drivers::BoundAddress address);

  Doors doors_;
  std::vector<drivers::InterfaceAddress> others_;  // Of this host, and not ours.
  std::map<IpAddress, std::string> bound_;
  std::set<std::string> down_;  // Interfaces that hold addresses of ours, and are down.
  std::set<IpAddress> lost_;    // Held until somebody took them from us: not asked for again.
  std::map<IpAddress, Waiting> waiting_;
  std::vector<drivers::BoundAddress> to_probe_;
  Signal any_to_probe_;
  std::set<IpAddress> moved_addresses_;
  Signal moved_;
};

}  // namespace isthmus::infra
