// Addresses of load balancers on the interfaces of this host.
//
// Each is bound as a single address (/32, /128) and marked as ours by its protocol number, so that
// ours are known again after a restart and others' are never touched. An IPv6 one is bound without
// the kernel's own duplicate detection (ours is earlier and quicker) and as deprecated, so that the
// host does not speak for itself, nor masquerade, with an address that may leave it.
//
// The mark (IFA_PROTO) needs Linux 5.18.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "isthmus/base/ip.h"
#include "isthmus/infra/drivers/netlink_socket.h"

namespace isthmus::infra::drivers {

// Free in the lists that come with iproute2 for routes, rules and addresses alike.
inline constexpr std::uint8_t kAddressProtocol = 66;

// One address that an interface has, by whomever.
struct InterfaceAddress {
  IpAddress address;
  std::uint8_t bits = 0;  // Of the prefix it is connected to.
  std::string interface;
  bool ours = false;
  bool link_down = false;  // Nothing passes the interface, by whoever set it down, or no carrier.

  friend auto operator<=>(const InterfaceAddress&, const InterfaceAddress&) = default;
};

struct BoundAddress {
  IpAddress address;
  std::string interface;

  friend auto operator<=>(const BoundAddress&, const BoundAddress&) = default;
};

// Where an address belongs: on the interface whose connected prefix contains it, the longest one of
// several; else on `fallback`, the pool's interface, if it is not empty. invalid: neither.
Result<std::string> interface_for(const IpAddress& address,
                                  const std::vector<InterfaceAddress>& present,
                                  const std::string& fallback);

// The prefixes this host is connected to, by addresses that are not ours, without single addresses:
// what NftDriver takes as links.
std::vector<IpPrefix> links_of(const std::vector<InterfaceAddress>& present);

// The addresses of a host. A resource; calls wait for nothing but the kernel.
class AddressBook {
 public:
  virtual ~AddressBook() = default;

  // All addresses of all interfaces. busy: they changed meanwhile.
  virtual Result<std::vector<InterfaceAddress>> observe() = 0;

  // Binds one. absent: no such interface. conflict: the interface has it already.
  virtual Result<> bind(const BoundAddress& address) = 0;

  // Takes one of ours away. absent: it is not there. conflict: it is there, but not ours.
  virtual Result<> unbind(const BoundAddress& address) = 0;
};

// The socket is of NETLINK_ROUTE and says in which network namespace this is.
class InterfaceAddresses final : public AddressBook {
 public:
  explicit InterfaceAddresses(NetlinkSocket socket) : socket_(std::move(socket)) {}

  Result<std::vector<InterfaceAddress>> observe() override;
  Result<> bind(const BoundAddress& address) override;
  Result<> unbind(const BoundAddress& address) override;

 private:
  struct Link {
    int index;
    std::string name;
    bool down;
  };
  Result<std::vector<Link>> links();
  Result<int> index_of(const std::string& interface);
  Result<> request(std::uint16_t type, std::uint16_t flags, const IpAddress& address, int index);

  NetlinkSocket socket_;
};

}  // namespace isthmus::infra::drivers
