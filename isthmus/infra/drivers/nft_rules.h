// The chains and rules of table `inet isthmus`. Nothing of them depends on what is served; that is
// elements of its sets (nft_elements.h).
//
//   prerouting, output   nat      to a listener's key? go to the chain that chooses its target
//     random, client              one for each part of the slots (nft_elements.h): draw a slot, at
//     random or by the client's address, and DNAT to
//                                 its owner; without an owner the packet stays where it is
//     restricted_…                the same for allowed clients; all others are dropped
//   postrouting          nat      flows of listeners that masquerade, and those whose replies would
//                                 bypass us (hairpin), leave with this host's address
//   input                filter   to a guarded address come: echo requests, neighbour discovery,
//     guarded                     answers to the host itself, and what is for a listener that
//     others
//                                 serve; new flows to one without targets are refused; all else is
//                                 dropped, so that the host's own services are not exposed
//
// No packet mark is used: slots live in a register, and what must be masqueraded is found again by
// the original destination. So there is nothing to agree on with kube-proxy, Calico or Cilium.
//
// The registers are the kernel's (linux/netfilter/nf_tables.h): each of 16 bytes is four of 4
// bytes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "isthmus/infra/drivers/nft_elements.h"

struct nftnl_rule;

namespace isthmus::infra::drivers {

inline constexpr const char* kTableName = "isthmus";

struct RuleDeleter {
  void operator()(nftnl_rule* rule) const;
};
using Rule = std::unique_ptr<nftnl_rule, RuleDeleter>;

// Its expressions as libnftnl prints them; equal for equal rules, whether built or read.
std::string text_of(const Rule& rule);

struct Hook {
  std::string type;
  std::uint32_t number = 0;
  std::int32_t priority = 0;

  friend bool operator==(const Hook&, const Hook&) = default;
};

struct Chain {
  std::string name;
  Hook hook;  // Without a type: reached from other chains only.
  std::vector<Rule> rules;
};

// All there should be, chains before those that lead to them.
std::vector<Chain> wanted_chains();

}  // namespace isthmus::infra::drivers
