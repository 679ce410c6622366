// The driver contract: what a host that holds load balancers asks of its data plane, in the
// backend's own words. nft_driver.h is the first driver.
//
// Three values and one door. A Balancer says what should be; Held says what the kernel holds; a
// Plan (plan.h) is the difference, computed without IO. The driver only observes and applies:
//
//   Held held = TRY(driver.observe());
//   Plan plan = make_plan(held, balancers, links, Rest::remove);
//   TRY(driver.apply(plan, held));        // held is now what the plan wanted
//
// At start that is all of it: observe, diff, apply the difference; nothing is ever flushed. Later a
// plan for one balancer against the Held in memory costs as much as that balancer, and observe()
// is repeated when generation() moved by other hands than ours, and every 30 s all the same.
//
// What the driver does not do: bind addresses (addresses.h), announce them (announcement.h), probe
// for others who have them, check health, allocate, remember anything.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "isthmus/base/ip.h"
#include "isthmus/base/result.h"
#include "isthmus/infra/drivers/slots.h"

namespace isthmus::infra::drivers {

struct Plan;

enum class Protocol : std::uint8_t { tcp, udp };

// Which source address the targets see.
enum class SourceAddress : std::uint8_t {
  masquerade,  // This host's. Replies come back whatever the targets' routes are.
  keep,        // The client's. Only for hosts that are the targets' way back to the clients.
};

struct Target {
  Endpoint endpoint;
  std::uint32_t weight = 1;
  bool drain = false;  // Keeps its TCP connections and gets no new flows.
  bool usable = true;  // As the health checks decide; an unusable one gets no new flows.
};

struct Listener {
  Protocol protocol = Protocol::tcp;
  std::uint16_t port = 0;
  std::size_t group = 0;  // The target group that serves it.
};

// What one load balancer should be on this host. Targets of another family than an address are not
// used for that address.
struct Balancer {
  // Opaque text that the kernel keeps with every listener and observe() gives back: whose it is and
  // of which generation, so that what no store knows any more can be told from what is foreign. At
  // most kNoteBytesMax bytes, without zero bytes.
  std::string note;
  std::vector<IpAddress> addresses;
  std::vector<Listener> listeners;
  std::vector<std::vector<Target>> groups;
  bool client_affinity = false;           // Flows of one client address go to one slot.
  std::vector<IpPrefix> allowed_sources;  // Empty: everybody. Others are dropped silently.
  SourceAddress source_address = SourceAddress::masquerade;
  // Another program of this host balances (kube-proxy on a Kubernetes node): the addresses are
  // guarded and the listeners' ports let through to it. Groups, affinity and sources are its
  // affair.
  bool announce_only = false;
};

inline constexpr std::size_t kNoteBytesMax = 200;

// A listener may name this many disjoint ranges of clients: with its slots they are one transaction
// of at most 512 * 2 * 100 bytes, which the smallest usual socket buffer (208 KiB) takes.
inline constexpr std::size_t kSourcesMax = 512;

// One listener on one address.
struct ListenerKey {
  IpAddress address;
  Protocol protocol = Protocol::tcp;
  std::uint16_t port = 0;

  friend auto operator<=>(const ListenerKey&, const ListenerKey&) = default;
};

// "tcp 192.0.2.1:80".
std::string to_string(const ListenerKey& key);

// How the first packet of a flow finds its slot.
enum class Choice : std::uint8_t {
  none,  // It is not served.
  random,
  client,             // By a hash of the client's address.
  restricted_random,  // The same two, for clients in `sources` only.
  restricted_client,
};

// What the kernel holds of one listener; each field is elements of its own there, so that whatever
// was damaged can be seen and repaired by itself. A default one is "nothing".
struct HeldListener {
  Choice choice = Choice::none;
  bool announced = false;  // The guard knows the port: it refuses where there is no target.
  bool passed = false;     // The guard lets the port through to whoever answers there.
  std::string note;        // Only where announced or passed.
  bool masquerade = false;
  std::vector<IpPrefix> sources;  // Sorted and disjoint.
  std::vector<IpAddress> loops;  // Under keep: targets that must be masqueraded as clients. Sorted.
  Slots slots{};

  friend bool operator==(const HeldListener&, const HeldListener&) = default;
};

// Whether the fixed part of the data plane (chains and rules) stands.
enum class Structure : std::uint8_t { absent, damaged, right };

// Everything of ours that the kernel holds.
struct Held {
  Structure structure = Structure::absent;
  std::uint32_t generation = 0;  // Of all rules of the host, at the time of reading.
  std::map<ListenerKey, HeldListener> listeners;
  std::set<IpAddress> guarded;  // Answer on their listeners' ports only.
  std::set<IpPrefix> links;     // A client and a target in the same one would bypass us.
};

// Resources: one per host and process. Calls do not wait for anything but the kernel, which answers
// at once; a large observe() takes about 3 µs per slot held, most of it the kernel's.
class BalancerDriver {
 public:
  virtual ~BalancerDriver() = default;

  // Reads what the kernel holds; changes nothing. conflict: something of our name that we did not
  // make stands in our place, and is not touched. denied: no privilege. unsupported: the kernel
  // lacks what we need. busy: it kept changing under our eyes.
  virtual Result<Held> observe() = 0;

  // The number of changes to the rules of this host, by whomever. A few microseconds.
  virtual Result<std::uint32_t> generation() = 0;

  // Makes the kernel hold what the plan wants and brings `held`, from which the plan was made,
  // along. A plan goes out in as many transactions as the socket needs, each of which leaves every
  // listener as it was or as it should be; after an error `held` has those that were committed and
  // the rest is as before. Flows that are established are not touched, except those of UDP to a
  // target that left: they end with the transaction that removed it.
  //
  // conflict: the kernel does not hold what the plan was made from; observe and plan again. denied,
  // unsupported: as above. busy: the kernel is out of memory. invalid: the plan cannot be carried
  // out as it is, for example because a listener does not fit one transaction. lost: no answer;
  // observe.
  virtual Result<> apply(const Plan& plan, Held& held) = 0;
};

}  // namespace isthmus::infra::drivers
