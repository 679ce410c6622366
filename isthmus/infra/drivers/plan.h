// From what should be and what the kernel holds to what must change: plain functions without IO.
//
// Each change is complete in itself, and the order is safe: after any prefix of it every listener
// is served as before or as it should be, and no address that is guarded is left open.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "isthmus/infra/drivers/driver.h"

namespace isthmus::infra::drivers {

// One listener from what is held to what is wanted, in one transaction.
struct ListenerChange {
  ListenerKey key;
  HeldListener from;
  HeldListener to;
};

struct Plan {
  bool build = false;  // The structure is absent or damaged: first of all it is made right.
  std::vector<IpPrefix> links_removed;  // Before those added: they may overlap.
  std::vector<IpPrefix> links_added;
  std::vector<IpAddress> guarded_added;
  std::vector<ListenerChange> listeners;
  std::vector<IpAddress> guarded_removed;  // Last.

  bool empty() const;

  // One line per change, for dry runs, logs and tests: "serve tcp 192.0.2.1:80 3 targets".
  std::string text() const;
};

// What happens to listeners, addresses and links that the wish does not mention.
enum class Rest : std::uint8_t {
  keep,    // They belong to others; only what is named is looked at.
  remove,  // The wish is all there should be.
};

struct Wish {
  std::vector<Balancer> balancers;
  // Listeners that should be gone, for Rest::keep: of balancers that were deleted or changed.
  std::vector<ListenerKey> gone;
  // Addresses that are no longer held, likewise.
  std::vector<IpAddress> unguarded;
  // The connected prefixes of this host, disjoint; looked at with Rest::remove only.
  std::vector<IpPrefix> links;
  Rest rest = Rest::remove;
};

// What one balancer's listener should be, given the slots as they are. Under `keep`, targets that
// are themselves clients of the listener are masqueraded, since their replies would not come back.
HeldListener wanted_listener(const Balancer& balancer, const Listener& listener,
                             const ListenerKey& key, const Slots& present);

// Sorted, disjoint, and without what another one of them contains.
std::vector<IpPrefix> merged(std::vector<IpPrefix> prefixes);

// invalid: a note or a list of sources is too long, a listener has no group, or two balancers have
// the same listener on one address; the message names it. No plan is made then.
Result<Plan> make_plan(const Held& held, const Wish& wish);

// What is held once the plan is carried out; `carry_out` of each change as it is committed.
void carry_out(const ListenerChange& change, Held& held);
void carry_out(const Plan& plan, Held& held);

// Targets that own slots before the change and none after it.
std::vector<Endpoint> targets_left(const ListenerChange& change);

}  // namespace isthmus::infra::drivers
