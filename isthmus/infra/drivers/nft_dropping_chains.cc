#include "isthmus/infra/drivers/nft_dropping_chains.h"

#include <libmnl/libmnl.h>
#include <libnftnl/chain.h>
#include <libnftnl/common.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "isthmus/infra/drivers/nft_rules.h"

namespace isthmus::infra::drivers {
namespace {

constexpr std::size_t kRequestBytesMax = 64;

std::optional<std::string_view> word_of(std::uint8_t family) {
  switch (family) {
    case NFPROTO_INET:
      return "inet";
    case NFPROTO_IPV4:
      return "ip";
    case NFPROTO_IPV6:
      return "ip6";
    default:
      return std::nullopt;  // Bridges and the like are no way of ours.
  }
}

std::optional<std::string> described(const nlmsghdr& header) {
  const auto* netfilter = static_cast<const nfgenmsg*>(mnl_nlmsg_get_payload(&header));
  const std::optional<std::string_view> family = word_of(netfilter->nfgen_family);
  std::unique_ptr<nftnl_chain, void (*)(const nftnl_chain*)> chain(nftnl_chain_alloc(),
                                                                   nftnl_chain_free);
  if (!family || nftnl_chain_nlmsg_parse(&header, chain.get()) < 0) return std::nullopt;
  // Only base chains have these.
  if (!nftnl_chain_is_set(chain.get(), NFTNL_CHAIN_HOOKNUM)) return std::nullopt;
  if (!nftnl_chain_is_set(chain.get(), NFTNL_CHAIN_POLICY)) return std::nullopt;
  const bool drops = nftnl_chain_get_u32(chain.get(), NFTNL_CHAIN_HOOKNUM) == NF_INET_FORWARD &&
                     nftnl_chain_get_u32(chain.get(), NFTNL_CHAIN_POLICY) == NF_DROP;
  if (!drops) return std::nullopt;
  const std::string_view table = nftnl_chain_get_str(chain.get(), NFTNL_CHAIN_TABLE);
  if (netfilter->nfgen_family == NFPROTO_INET && table == kTableName) return std::nullopt;
  return fmt::format("{} {} {}", *family, table,
                     nftnl_chain_get_str(chain.get(), NFTNL_CHAIN_NAME));
}

}  // namespace

Result<std::vector<std::string>> dropping_chains(NetlinkSocket& socket) {
  NetlinkMessages request;
  request.add(kRequestBytesMax, [&](char* room) {
    nftnl_nlmsg_build_hdr(room, NFT_MSG_GETCHAIN, NFPROTO_UNSPEC, NLM_F_DUMP,
                          socket.next_sequence());
  });
  std::vector<std::string> found;
  TRY(socket.dump(request.bytes(), [&](const nlmsghdr& header) -> Result<> {
    if (auto chain = described(header)) found.push_back(std::move(*chain));
    return {};
  }));
  std::ranges::sort(found);
  return found;
}

}  // namespace isthmus::infra::drivers
