#include "isthmus/infra/drivers/nft_rules.h"

#include <libnftnl/expr.h>
#include <libnftnl/rule.h>
#include <linux/in6.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_conntrack_common.h>
#include <linux/netfilter/nf_nat.h>
#include <linux/netfilter/nf_tables.h>

#include <array>
#include <initializer_list>
#include <string_view>

namespace isthmus::infra::drivers {
namespace {

// How the headers and registers of one family are laid out. A key begins in the first register; its
// fields follow at multiples of 4 bytes.
struct Layout {
  IpFamily family;
  std::uint8_t nfproto;
  std::uint32_t source_offset;
  std::uint32_t destination_offset;
  std::uint32_t address_bytes;
  std::uint32_t protocol_register;
  std::uint32_t port_register;
  std::uint32_t fourth_register;
  std::uint32_t value_port_register;  // Behind a target's address.
  std::uint32_t original_destination;
};
constexpr std::uint32_t kKeyRegister = NFT_REG_1;
constexpr Layout kV4{.family = IpFamily::v4,
                     .nfproto = NFPROTO_IPV4,
                     .source_offset = 12,
                     .destination_offset = 16,
                     .address_bytes = 4,
                     .protocol_register = NFT_REG32_01,
                     .port_register = NFT_REG32_02,
                     .fourth_register = NFT_REG32_03,
                     .value_port_register = NFT_REG32_01,
                     .original_destination = NFT_CT_DST_IP};
// A multiple of 16 bytes has two names; the kernel answers with that of the large register.
constexpr Layout kV6{.family = IpFamily::v6,
                     .nfproto = NFPROTO_IPV6,
                     .source_offset = 8,
                     .destination_offset = 24,
                     .address_bytes = 16,
                     .protocol_register = NFT_REG_2,
                     .port_register = NFT_REG32_05,
                     .fourth_register = NFT_REG32_06,
                     .value_port_register = NFT_REG_2,
                     .original_destination = NFT_CT_DST_IP6};
constexpr std::array kLayouts{kV4, kV6};

constexpr std::uint8_t kEchoRequest4 = 8;  // RFC 792
// RFC 4443 and 4861: echo request, neighbour solicitation, neighbour advertisement.
constexpr std::array<std::uint8_t, 3> kAnswered6{128, 135, 136};
// Any number; it only keeps our hash from being like others' of the same addresses.
constexpr std::uint32_t kHashSeed = 0x69737468;
// As the kernel's bits of enum ip_conntrack_info are numbered, which no header gives away.
constexpr std::uint32_t kStateNew = 1U << (IP_CT_NEW + 1);

// Writes one rule's expressions from left to right.
class Writer {
 public:
  explicit Writer(const std::string& chain) : rule_(nftnl_rule_alloc()) {
    ISTHMUS_ASSERT(rule_ != nullptr, "out of memory");
    nftnl_rule_set_u32(rule_.get(), NFTNL_RULE_FAMILY, NFPROTO_INET);
    nftnl_rule_set_str(rule_.get(), NFTNL_RULE_TABLE, kTableName);
    nftnl_rule_set_str(rule_.get(), NFTNL_RULE_CHAIN, chain.c_str());
  }

  Writer& payload(std::uint32_t base, std::uint32_t offset, std::uint32_t bytes, std::uint32_t to) {
    return add("payload", {{NFTNL_EXPR_PAYLOAD_DREG, to},
                           {NFTNL_EXPR_PAYLOAD_BASE, base},
                           {NFTNL_EXPR_PAYLOAD_OFFSET, offset},
                           {NFTNL_EXPR_PAYLOAD_LEN, bytes}});
  }
  Writer& meta(std::uint32_t key, std::uint32_t to) {
    return add("meta", {{NFTNL_EXPR_META_KEY, key}, {NFTNL_EXPR_META_DREG, to}});
  }
  Writer& ct(std::uint32_t key, std::uint32_t to) {
    return add("ct", {{NFTNL_EXPR_CT_KEY, key}, {NFTNL_EXPR_CT_DREG, to}});
  }
  Writer& original(std::uint32_t key, std::uint32_t to) {
    return ct(key, to).byte(NFTNL_EXPR_CT_DIR, IP_CT_DIR_ORIGINAL);
  }
  Writer& equals(std::uint8_t value) {
    return add("cmp", {{NFTNL_EXPR_CMP_SREG, kKeyRegister}, {NFTNL_EXPR_CMP_OP, NFT_CMP_EQ}})
        .data(NFTNL_EXPR_CMP_DATA, &value, sizeof value);
  }
  Writer& state_is_new() {
    std::uint32_t zero = 0;
    std::uint32_t mask = kStateNew;
    return ct(NFT_CT_STATE, kKeyRegister)
        .add("bitwise", {{NFTNL_EXPR_BITWISE_SREG, kKeyRegister},
                         {NFTNL_EXPR_BITWISE_DREG, kKeyRegister},
                         {NFTNL_EXPR_BITWISE_OP, NFT_BITWISE_BOOL},
                         {NFTNL_EXPR_BITWISE_LEN, sizeof mask}})
        .data(NFTNL_EXPR_BITWISE_MASK, &mask, sizeof mask)
        .data(NFTNL_EXPR_BITWISE_XOR, &zero, sizeof zero)
        .add("cmp", {{NFTNL_EXPR_CMP_SREG, kKeyRegister}, {NFTNL_EXPR_CMP_OP, NFT_CMP_NEQ}})
        .data(NFTNL_EXPR_CMP_DATA, &zero, sizeof zero);
  }
  Writer& lookup(SetName set, const Layout& layout, std::uint8_t part = 0) {
    return add("lookup", {{NFTNL_EXPR_LOOKUP_SREG, kKeyRegister}, {NFTNL_EXPR_LOOKUP_FLAGS, 0}})
        .text(NFTNL_EXPR_LOOKUP_SET, to_string(SetId{set, layout.family, part}));
  }
  Writer& map(SetName set, const Layout& layout, std::uint32_t to, std::uint8_t part = 0) {
    return lookup(set, layout, part).number(NFTNL_EXPR_LOOKUP_DREG, to);
  }
  Writer& verdict(std::uint32_t code, const std::string& chain = {}) {
    add("immediate", {{NFTNL_EXPR_IMM_DREG, NFT_REG_VERDICT}, {NFTNL_EXPR_IMM_VERDICT, code}});
    return chain.empty() ? *this : text(NFTNL_EXPR_IMM_CHAIN, chain);
  }
  Writer& random_slot(std::uint32_t to) {
    return add("numgen", {{NFTNL_EXPR_NG_DREG, to},
                          {NFTNL_EXPR_NG_MODULUS, kSlots},
                          {NFTNL_EXPR_NG_TYPE, NFT_NG_RANDOM},
                          {NFTNL_EXPR_NG_OFFSET, 0}});
  }
  Writer& hashed_slot(std::uint32_t from, std::uint32_t bytes, std::uint32_t to) {
    return add("hash", {{NFTNL_EXPR_HASH_SREG, from},
                        {NFTNL_EXPR_HASH_DREG, to},
                        {NFTNL_EXPR_HASH_LEN, bytes},
                        {NFTNL_EXPR_HASH_MODULUS, kSlots},
                        {NFTNL_EXPR_HASH_SEED, kHashSeed},
                        {NFTNL_EXPR_HASH_OFFSET, 0},
                        {NFTNL_EXPR_HASH_TYPE, NFT_HASH_JENKINS}});
  }
  Writer& dnat(const Layout& layout) {
    return add("nat",
               {{NFTNL_EXPR_NAT_TYPE, NFT_NAT_DNAT},
                {NFTNL_EXPR_NAT_FAMILY, layout.nfproto},
                {NFTNL_EXPR_NAT_REG_ADDR_MIN, kKeyRegister},
                {NFTNL_EXPR_NAT_REG_ADDR_MAX, kKeyRegister},
                {NFTNL_EXPR_NAT_REG_PROTO_MIN, layout.value_port_register},
                {NFTNL_EXPR_NAT_REG_PROTO_MAX, layout.value_port_register},
                {NFTNL_EXPR_NAT_FLAGS, NF_NAT_RANGE_MAP_IPS | NF_NAT_RANGE_PROTO_SPECIFIED}});
  }
  Writer& masquerade() { return add("masq", {}); }
  Writer& reject(std::uint32_t type, std::uint8_t code) {
    return add("reject", {{NFTNL_EXPR_REJECT_TYPE, type}}).byte(NFTNL_EXPR_REJECT_CODE, code);
  }

  // Only packets of the family; those who list the rules are told, too, whose headers are read.
  Writer& of(const Layout& layout) {
    return meta(NFT_META_NFPROTO, kKeyRegister).equals(layout.nfproto);
  }
  Writer& destination(const Layout& layout) {
    return payload(NFT_PAYLOAD_NETWORK_HEADER, layout.destination_offset, layout.address_bytes,
                   kKeyRegister);
  }
  Writer& source(const Layout& layout, std::uint32_t to) {
    return payload(NFT_PAYLOAD_NETWORK_HEADER, layout.source_offset, layout.address_bytes, to);
  }
  // The key of the listener that the packet is for.
  Writer& listener(const Layout& layout) {
    return destination(layout)
        .meta(NFT_META_L4PROTO, layout.protocol_register)
        .payload(NFT_PAYLOAD_TRANSPORT_HEADER, 2, 2, layout.port_register);
  }
  // The key of the listener that the packet's flow was for at first.
  Writer& original_listener(const Layout& layout) {
    return original(layout.original_destination, kKeyRegister)
        .meta(NFT_META_L4PROTO, layout.protocol_register)
        .original(NFT_CT_PROTO_DST, layout.port_register);
  }

  Rule done() { return std::move(rule_); }

 private:
  struct Attribute {
    std::uint16_t name;
    std::uint32_t value;
  };

  Writer& add(const char* name, std::initializer_list<Attribute> attributes) {
    last_ = nftnl_expr_alloc(name);
    ISTHMUS_ASSERT(last_ != nullptr, "an expression that libnftnl does not know");
    for (const Attribute& attribute : attributes) number(attribute.name, attribute.value);
    nftnl_rule_add_expr(rule_.get(), last_);
    return *this;
  }
  Writer& number(std::uint16_t name, std::uint32_t value) {
    nftnl_expr_set_u32(last_, name, value);
    return *this;
  }
  Writer& byte(std::uint16_t name, std::uint8_t value) {
    nftnl_expr_set_u8(last_, name, value);
    return *this;
  }
  Writer& data(std::uint16_t name, const void* value, std::uint32_t bytes) {
    nftnl_expr_set(last_, name, value, bytes);
    return *this;
  }
  Writer& text(std::uint16_t name, const std::string& value) {
    nftnl_expr_set_str(last_, name, value.c_str());
    return *this;
  }

  Rule rule_;
  nftnl_expr* last_ = nullptr;
};

std::string named(std::string_view name, const Layout& layout) {
  return std::string(name) + (layout.family == IpFamily::v4 ? "4" : "6");
}

Chain choosing_chain(Choice choice, const Layout& layout, std::uint8_t part) {
  Chain chain{.name = chain_of(choice, layout.family, part), .hook = {}, .rules = {}};
  Writer rule(chain.name);
  // By the client first: its address would overwrite the key.
  if (choice == Choice::client) {
    std::uint32_t spare = layout.family == IpFamily::v4 ? NFT_REG_2 : NFT_REG_3;
    rule.of(layout)
        .source(layout, spare)
        .hashed_slot(spare, layout.address_bytes, layout.fourth_register);
    rule.listener(layout);
  } else {
    rule.of(layout).listener(layout).random_slot(layout.fourth_register);
  }
  rule.map(SetName::slots, layout, kKeyRegister, part).dnat(layout);
  chain.rules.push_back(rule.done());
  return chain;
}

Chain restricting_chain(Choice choice, Choice then, const Layout& layout, std::uint8_t part) {
  Chain chain{.name = chain_of(choice, layout.family, part), .hook = {}, .rules = {}};
  chain.rules.push_back(
      Writer(chain.name)
          .listener(layout)
          .source(layout, layout.fourth_register)
          .lookup(SetName::sources, layout)
          .verdict(static_cast<std::uint32_t>(NFT_GOTO), chain_of(then, layout.family, part))
          .done());
  chain.rules.push_back(Writer(chain.name).verdict(NF_DROP).done());
  return chain;
}

Chain guarded_chain(const Layout& layout) {
  Chain chain{.name = named("guarded", layout), .hook = {}, .rules = {}};
  auto accept = [&](std::uint8_t protocol, std::uint8_t type) {
    chain.rules.push_back(Writer(chain.name)
                              .meta(NFT_META_L4PROTO, kKeyRegister)
                              .equals(protocol)
                              .payload(NFT_PAYLOAD_TRANSPORT_HEADER, 0, 1, kKeyRegister)
                              .equals(type)
                              .verdict(NF_ACCEPT)
                              .done());
  };
  // Answers to flows that the host itself began from this address, as one to a load balancer of
  // its own is.
  chain.rules.push_back(Writer(chain.name)
                            .ct(NFT_CT_DIRECTION, kKeyRegister)
                            .equals(IP_CT_DIR_REPLY)
                            .verdict(NF_ACCEPT)
                            .done());
  if (layout.family == IpFamily::v4) {
    accept(IPPROTO_ICMP, kEchoRequest4);
  } else {
    for (std::uint8_t type : kAnswered6) accept(IPPROTO_ICMPV6, type);
  }
  chain.rules.push_back(Writer(chain.name)
                            .of(layout)
                            .listener(layout)
                            .lookup(SetName::passed, layout)
                            .verdict(NF_ACCEPT)
                            .done());
  // Only new flows are refused: what conntrack cannot place (a late segment of a live connection)
  // must not be answered with a reset.
  auto refuse = [&](std::uint8_t protocol, std::uint32_t type, std::uint8_t code) {
    chain.rules.push_back(Writer(chain.name)
                              .of(layout)
                              .state_is_new()
                              .meta(NFT_META_L4PROTO, kKeyRegister)
                              .equals(protocol)
                              .listener(layout)
                              .lookup(SetName::ports, layout)
                              .reject(type, code)
                              .done());
  };
  refuse(IPPROTO_TCP, NFT_REJECT_TCP_RST, 0);
  refuse(IPPROTO_UDP, NFT_REJECT_ICMPX_UNREACH, NFT_REJECT_ICMPX_PORT_UNREACH);
  chain.rules.push_back(Writer(chain.name).verdict(NF_DROP).done());
  return chain;
}

Chain hooked_chain(std::string name, std::string type, std::uint32_t hook, std::int32_t priority) {
  return {.name = std::move(name),
          .hook = {.type = std::move(type), .number = hook, .priority = priority},
          .rules = {}};
}

Chain serving_chain(std::string name, std::uint32_t hook) {
  Chain chain = hooked_chain(std::move(name), "nat", hook, -100);  // dstnat
  for (const Layout& layout : kLayouts) {
    chain.rules.push_back(Writer(chain.name)
                              .of(layout)
                              .listener(layout)
                              .map(SetName::listeners, layout, NFT_REG_VERDICT)
                              .done());
  }
  return chain;
}

Chain masquerading_chain() {
  Chain chain = hooked_chain("postrouting", "nat", NF_INET_POST_ROUTING, 100);  // srcnat
  for (const Layout& layout : kLayouts) {
    chain.rules.push_back(Writer(chain.name)
                              .of(layout)
                              .original_listener(layout)
                              .lookup(SetName::masquerade, layout)
                              .masquerade()
                              .done());
    chain.rules.push_back(Writer(chain.name)
                              .of(layout)
                              .original_listener(layout)
                              .source(layout, layout.fourth_register)
                              .lookup(SetName::loops, layout)
                              .masquerade()
                              .done());
    // Behind the client's address, the target's, each as it is now.
    std::uint32_t second = layout.family == IpFamily::v4 ? NFT_REG32_01 : NFT_REG_2;
    chain.rules.push_back(Writer(chain.name)
                              .of(layout)
                              .original_listener(layout)
                              .lookup(SetName::ports, layout)
                              .source(layout, kKeyRegister)
                              .payload(NFT_PAYLOAD_NETWORK_HEADER, layout.destination_offset,
                                       layout.address_bytes, second)
                              .lookup(SetName::links, layout)
                              .masquerade()
                              .done());
  }
  return chain;
}

Chain guarding_chain() {
  Chain chain = hooked_chain("input", "filter", NF_INET_LOCAL_IN, 0);
  for (const Layout& layout : kLayouts) {
    chain.rules.push_back(
        Writer(chain.name)
            .of(layout)
            .destination(layout)
            .lookup(SetName::guarded, layout)
            .verdict(static_cast<std::uint32_t>(NFT_GOTO), named("guarded", layout))
            .done());
  }
  return chain;
}

}  // namespace

void RuleDeleter::operator()(nftnl_rule* rule) const { nftnl_rule_free(rule); }

std::string text_of(const Rule& rule) {
  std::string text;
  nftnl_expr_foreach(
      rule.get(),
      [](nftnl_expr* expression, void* all) {
        std::array<char, 512> line{};
        nftnl_expr_snprintf(line.data(), line.size(), expression, NFTNL_OUTPUT_DEFAULT, 0);
        *static_cast<std::string*>(all) +=
            std::string(nftnl_expr_get_str(expression, NFTNL_EXPR_NAME)) + " " + line.data() + "\n";
        return 0;
      },
      &text);
  return text;
}

std::vector<Chain> wanted_chains() {
  std::vector<Chain> chains;
  for (const Layout& layout : kLayouts) {
    for (std::uint8_t part = 0; part < kSlotsParts; ++part) {
      chains.push_back(choosing_chain(Choice::random, layout, part));
      chains.push_back(choosing_chain(Choice::client, layout, part));
      chains.push_back(restricting_chain(Choice::restricted_random, Choice::random, layout, part));
      chains.push_back(restricting_chain(Choice::restricted_client, Choice::client, layout, part));
    }
    chains.push_back(guarded_chain(layout));
  }
  chains.push_back(serving_chain("prerouting", NF_INET_PRE_ROUTING));
  chains.push_back(serving_chain("output", NF_INET_LOCAL_OUT));
  chains.push_back(masquerading_chain());
  chains.push_back(guarding_chain());
  return chains;
}

}  // namespace isthmus::infra::drivers
