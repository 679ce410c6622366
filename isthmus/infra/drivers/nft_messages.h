// Elements on their way to the kernel and back, as netlink messages of nftables.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "isthmus/infra/drivers/netlink_socket.h"
#include "isthmus/infra/drivers/nft_elements.h"

namespace isthmus::infra::drivers {

// Appends what makes the elements `from` into `to` in the kernel: removals before additions, and an
// element whose value changes is both. Both must be of one listener, address or link: what one
// transaction changes. Each addition fails where the key is taken, each removal where it is not
// there, so that a kernel that is not as believed refuses the whole transaction.
void add_changes(std::vector<Element> from, std::vector<Element> to, NetlinkSocket& socket,
                 NetlinkMessages& messages);

// The transaction of these messages: an opening and a closing one around them, and the last of them
// asks for an acknowledgement. Sends it. Errors as NetlinkSocket::transact, but absent is a
// conflict here.
Result<> commit(const NetlinkMessages& messages, NetlinkSocket& socket);

// Bytes that commit() adds.
inline constexpr std::size_t kTransactionOverheadBytes = 64;

// Calls with every element of a set that the kernel holds; an error of `each` ends it. One of a
// form that we never write comes with what could be understood of it, which is enough to remove it:
// an empty key is the catch-all.
Result<> read_elements(const SetId& set, NetlinkSocket& socket,
                       const std::function<Result<>(const Element&)>& each);

// The number of changes to the rules of the namespace.
Result<std::uint32_t> read_generation(NetlinkSocket& socket);

}  // namespace isthmus::infra::drivers
