// The driver for hosts that balance in the kernel: nftables and conntrack, by raw netlink. No other
// program takes part, and what is programmed goes on serving when this one is gone.
//
// It owns one table, `inet isthmus`, known by its comment, and touches nothing else; a table of
// that name without the comment is somebody's, and refused. It needs CAP_NET_ADMIN in the network
// namespace, as root of the machine or of an unprivileged user namespace.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "isthmus/infra/drivers/conntrack.h"
#include "isthmus/infra/drivers/driver.h"
#include "isthmus/infra/drivers/netlink_socket.h"
#include "isthmus/infra/drivers/nft_structure.h"

namespace isthmus::infra::drivers {

class NftDriver final : public BalancerDriver {
 public:
  // For the network namespace in which the socket was opened, of NETLINK_NETFILTER. A transaction
  // takes at most `transaction_bytes_max` bytes, however much more the socket would.
  static constexpr std::size_t kTransactionBytesMax = 2 * 1024 * 1024;
  explicit NftDriver(NetlinkSocket socket,
                     std::size_t transaction_bytes_max = kTransactionBytesMax);

  Result<Held> observe() override;
  Result<std::uint32_t> generation() override;
  Result<> apply(const Plan& plan, Held& held) override;

 private:
  class Transactions;

  Result<Held> observe_once();
  Result<std::vector<Element>> read_all(const HeldStructure& structure, Held& held);
  Result<> build(Held& held, Transactions& transactions);
  Result<> change(const Plan& plan, Held& held, std::vector<GoneTarget>& gone);

  NetlinkSocket socket_;
  const std::size_t transaction_bytes_max_;
};

}  // namespace isthmus::infra::drivers
