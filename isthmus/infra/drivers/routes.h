// Routes of this host's kernel to networks that lie behind machines.
//
// Ours are known by their protocol number and their metric, in the main table. Both are our own, so
// that no other program's `replace` meets them, and they are made so that the kernel refuses where
// a route to the destination with that metric is there already: what others have is never touched.
// A route goes through the interface that is named, so that its next hop is never looked for behind
// another route.
//
// When a link goes down the kernel takes its IPv4 routes away and tells nobody; they are missing in
// the next observe().
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "isthmus/base/ip.h"
#include "isthmus/infra/drivers/netlink_socket.h"

namespace isthmus::infra::drivers {

// Free in the list that comes with iproute2, as for addresses.
inline constexpr std::uint8_t kRouteProtocol = 66;
inline constexpr std::uint32_t kRouteMetric = 66;

// One of ours. Where the kernel holds it in another form, by others' hands, `next_hop` or
// `interface` is not that of any wish: 0.0.0.0, or empty.
struct HostRoute {
  IpPrefix destination;
  IpAddress next_hop;
  std::string interface;

  friend auto operator<=>(const HostRoute&, const HostRoute&) = default;
};

struct RouteChange {
  enum class Kind : std::uint8_t {
    add,      // conflict: there is one to the destination with our metric.
    replace,  // One of ours to the destination, by the route that is given. absent: there is none.
    remove,   // Exactly this one of ours. absent: it is not there.
  };
  Kind kind = Kind::add;
  HostRoute route;

  friend bool operator==(const RouteChange&, const RouteChange&) = default;
};

// The route that packets take, by whomever.
struct TakenRoute {
  IpPrefix destination;
  std::uint8_t protocol = 0;
  std::uint32_t metric = 0;
  std::optional<IpAddress> next_hop;
  std::string interface;

  bool is_ours() const { return protocol == kRouteProtocol && metric == kRouteMetric; }

  friend bool operator==(const TakenRoute&, const TakenRoute&) = default;
};

// As `ip route` writes it: "10.244.1.0/24 via 10.0.0.9 dev eth0 proto static metric 66".
std::string to_string(const TakenRoute& route);

// The routes of a host. A resource; calls wait for nothing but the kernel.
class RouteBook {
 public:
  virtual ~RouteBook() = default;

  // All of ours, in the order of their destinations. busy: they changed meanwhile.
  virtual Result<std::vector<HostRoute>> observe() = 0;

  // Makes the changes, each for itself, and answers for each of them why it was not made, in the
  // kernel's words; nothing for those that were. A `replace` is only for a route that was just seen
  // to be ours: the kernel compares no protocol. An error of its own: nobody knows which were made.
  using Refusals = std::vector<std::optional<Error>>;
  virtual Result<Refusals> apply(std::span<const RouteChange> changes) = 0;

  // For each destination the route that packets to its first address behind the network's own would
  // take; nothing where there is none, or one that lets none through (blackhole and the like).
  using TakenRoutes = std::vector<std::optional<TakenRoute>>;
  virtual Result<TakenRoutes> taken(std::span<const IpPrefix> destinations) = 0;
};

// The socket says in which network namespace this is.
class KernelRoutes final : public RouteBook {
 public:
  // Errors of NetlinkSocket::open and NetlinkSocket::check_strictly.
  static Result<KernelRoutes> open();

  // See NetlinkSocket::port().
  std::uint32_t port() const { return socket_.port(); }

  Result<std::vector<HostRoute>> observe() override;
  Result<Refusals> apply(std::span<const RouteChange> changes) override;
  Result<TakenRoutes> taken(std::span<const IpPrefix> destinations) override;

 private:
  explicit KernelRoutes(NetlinkSocket socket) : socket_(std::move(socket)) {}
  Result<> add_held(IpFamily family, std::vector<HostRoute>& held);
  Result<> apply_some(std::span<const RouteChange> changes,
                      std::span<std::optional<Error>> refused);
  Result<> ask_some(std::span<const IpPrefix> destinations,
                    std::span<std::optional<TakenRoute>> taken);

  NetlinkSocket socket_;
};

}  // namespace isthmus::infra::drivers
