#include "isthmus/infra/drivers/nft_structure.h"

#include <libmnl/libmnl.h>
#include <libnftnl/chain.h>
#include <libnftnl/common.h>
#include <libnftnl/rule.h>
#include <libnftnl/set.h>
#include <libnftnl/table.h>
#include <libnftnl/udata.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>

#include <algorithm>
#include <array>
#include <functional>
#include <initializer_list>
#include <memory>

namespace isthmus::infra::drivers {
namespace {

// More than any message of the structure has: the longest is a rule of about 800 bytes.
constexpr std::size_t kMessageBytesMax = 4096;

template <class T>
using Owned = std::unique_ptr<T, std::function<void(T*)>>;

Owned<nftnl_table> a_table() {
  return {nftnl_table_alloc(), [](nftnl_table* table) { nftnl_table_free(table); }};
}
Owned<nftnl_chain> a_chain() {
  return {nftnl_chain_alloc(), [](nftnl_chain* chain) { nftnl_chain_free(chain); }};
}
Owned<nftnl_set> a_set() {
  return {nftnl_set_alloc(), [](nftnl_set* set) { nftnl_set_free(set); }};
}

// nft's numbers for the types of fields; a key's type is theirs, 6 bits each.
enum Field : std::uint8_t {
  field_address4 = 7,
  field_address6 = 8,
  field_protocol = 12,
  field_port = 13,
  field_slot = 19,  // A mark: the only type of 4 bytes in the machine's order.
};
constexpr std::uint32_t kVerdictType = NFT_DATA_VERDICT;

std::uint8_t bytes_of(Field field) {
  switch (field) {
    case field_address6:
      return 16;
    case field_protocol:
      return 1;
    case field_port:
      return 2;
    default:
      return 4;
  }
}

SetShape shape(SetId id, std::initializer_list<Field> key, std::initializer_list<Field> value,
               bool ranges = false) {
  SetShape result{.id = id};
  for (Field field : key) {
    result.key_type = result.key_type << 6 | field;
    result.key_bytes += (bytes_of(field) + 3U) / 4 * 4;
    if (ranges) result.field_bytes.push_back(bytes_of(field));
  }
  for (Field field : value) {
    result.value_type = result.value_type << 6 | field;
    result.value_bytes += (bytes_of(field) + 3U) / 4 * 4;
  }
  if (ranges) result.flags = NFT_SET_INTERVAL | NFT_SET_CONCAT;
  if (value.size() > 0) result.flags = NFT_SET_MAP;
  return result;
}

SetShape shape_of(SetId id) {
  Field address = id.family == IpFamily::v4 ? field_address4 : field_address6;
  switch (id.name) {
    case SetName::listeners: {
      SetShape map = shape(id, {address, field_protocol, field_port}, {});
      map.flags = NFT_SET_MAP;
      map.value_type = kVerdictType;
      return map;
    }
    case SetName::ports:
    case SetName::passed:
    case SetName::masquerade:
      return shape(id, {address, field_protocol, field_port}, {});
    case SetName::slots:
      return shape(id, {address, field_protocol, field_port, field_slot}, {address, field_port});
    case SetName::sources:
      return shape(id, {address, field_protocol, field_port, address}, {}, true);
    case SetName::loops:
      return shape(id, {address, field_protocol, field_port, address}, {});
    case SetName::guarded:
      return shape(id, {address}, {});
    case SetName::links:
      return shape(id, {address, address}, {}, true);
  }
  return {};
}

// Appends messages of one kind of request after the other.
class Writer {
 public:
  Writer(NetlinkSocket& socket, NetlinkMessages& messages) : socket_(socket), messages_(messages) {}

  void message(std::uint16_t type, std::uint16_t flags,
               const std::function<void(nlmsghdr*)>& payload) {
    messages_.add(kMessageBytesMax, [&](char* room) {
      payload(nftnl_nlmsg_build_hdr(room, type, NFPROTO_INET, flags, socket_.next_sequence()));
    });
  }

  void new_table() {
    std::array<std::uint8_t, 64> comment{};
    std::uint8_t bytes = static_cast<std::uint8_t>(std::char_traits<char>::length(kTableMark) + 1);
    comment[0] = NFTNL_UDATA_TABLE_COMMENT;
    comment[1] = bytes;
    std::copy_n(kTableMark, bytes, comment.begin() + 2);
    Owned<nftnl_table> table = a_table();
    nftnl_table_set_str(table.get(), NFTNL_TABLE_NAME, kTableName);
    nftnl_table_set_u32(table.get(), NFTNL_TABLE_FAMILY, NFPROTO_INET);
    nftnl_table_set_data(table.get(), NFTNL_TABLE_USERDATA, comment.data(), bytes + 2U);
    // Exclusive: one that came meanwhile is somebody else's.
    message(NFT_MSG_NEWTABLE, NLM_F_CREATE | NLM_F_EXCL,
            [&](nlmsghdr* header) { nftnl_table_nlmsg_build_payload(header, table.get()); });
  }

  void clear_table_flags() {
    Owned<nftnl_table> table = a_table();
    nftnl_table_set_str(table.get(), NFTNL_TABLE_NAME, kTableName);
    nftnl_table_set_u32(table.get(), NFTNL_TABLE_FAMILY, NFPROTO_INET);
    nftnl_table_set_u32(table.get(), NFTNL_TABLE_FLAGS, 0);
    message(NFT_MSG_NEWTABLE, 0,
            [&](nlmsghdr* header) { nftnl_table_nlmsg_build_payload(header, table.get()); });
  }

  void chain(std::uint16_t type, std::uint16_t flags, const std::string& name,
             const Hook& hook = {}) {
    Owned<nftnl_chain> chain = a_chain();
    nftnl_chain_set_u32(chain.get(), NFTNL_CHAIN_FAMILY, NFPROTO_INET);
    nftnl_chain_set_str(chain.get(), NFTNL_CHAIN_TABLE, kTableName);
    nftnl_chain_set_str(chain.get(), NFTNL_CHAIN_NAME, name.c_str());
    if (!hook.type.empty()) {
      nftnl_chain_set_str(chain.get(), NFTNL_CHAIN_TYPE, hook.type.c_str());
      nftnl_chain_set_u32(chain.get(), NFTNL_CHAIN_HOOKNUM, hook.number);
      nftnl_chain_set_s32(chain.get(), NFTNL_CHAIN_PRIO, hook.priority);
      nftnl_chain_set_u32(chain.get(), NFTNL_CHAIN_POLICY, NF_ACCEPT);
    }
    message(type, flags,
            [&](nlmsghdr* header) { nftnl_chain_nlmsg_build_payload(header, chain.get()); });
  }

  // All rules of a chain.
  void flush(const std::string& chain) {
    Rule rule(nftnl_rule_alloc());
    nftnl_rule_set_u32(rule.get(), NFTNL_RULE_FAMILY, NFPROTO_INET);
    nftnl_rule_set_str(rule.get(), NFTNL_RULE_TABLE, kTableName);
    nftnl_rule_set_str(rule.get(), NFTNL_RULE_CHAIN, chain.c_str());
    message(NFT_MSG_DELRULE, 0,
            [&](nlmsghdr* header) { nftnl_rule_nlmsg_build_payload(header, rule.get()); });
  }

  void append(const Rule& rule) {
    message(NFT_MSG_NEWRULE, NLM_F_CREATE | NLM_F_APPEND,
            [&](nlmsghdr* header) { nftnl_rule_nlmsg_build_payload(header, rule.get()); });
  }

  void new_set(const SetShape& shape, std::uint32_t id) {
    Owned<nftnl_set> set = named_set(to_string(shape.id));
    nftnl_set_set_u32(set.get(), NFTNL_SET_FLAGS, shape.flags);
    nftnl_set_set_u32(set.get(), NFTNL_SET_KEY_TYPE, shape.key_type);
    nftnl_set_set_u32(set.get(), NFTNL_SET_KEY_LEN, shape.key_bytes);
    nftnl_set_set_u32(set.get(), NFTNL_SET_ID, id);
    if ((shape.flags & NFT_SET_MAP) != 0) {
      nftnl_set_set_u32(set.get(), NFTNL_SET_DATA_TYPE, shape.value_type);
      nftnl_set_set_u32(set.get(), NFTNL_SET_DATA_LEN, shape.value_bytes);
    }
    if (!shape.field_bytes.empty()) {
      nftnl_set_set_data(set.get(), NFTNL_SET_DESC_CONCAT, shape.field_bytes.data(),
                         static_cast<std::uint32_t>(shape.field_bytes.size()));
    }
    message(NFT_MSG_NEWSET, NLM_F_CREATE | NLM_F_EXCL,
            [&](nlmsghdr* header) { nftnl_set_nlmsg_build_payload(header, set.get()); });
  }

  void delete_set(const std::string& name) {
    Owned<nftnl_set> set = named_set(name);
    message(NFT_MSG_DELSET, 0,
            [&](nlmsghdr* header) { nftnl_set_nlmsg_build_payload(header, set.get()); });
  }

 private:
  static Owned<nftnl_set> named_set(const std::string& name) {
    Owned<nftnl_set> set = a_set();
    nftnl_set_set_u32(set.get(), NFTNL_SET_FAMILY, NFPROTO_INET);
    nftnl_set_set_str(set.get(), NFTNL_SET_TABLE, kTableName);
    nftnl_set_set_str(set.get(), NFTNL_SET_NAME, name.c_str());
    return set;
  }

  NetlinkSocket& socket_;
  NetlinkMessages& messages_;
};

const HeldStructure::HeldChain* find(const HeldStructure& held, const std::string& name) {
  auto found = std::ranges::find(held.chains, name, &HeldStructure::HeldChain::name);
  return found == held.chains.end() ? nullptr : &*found;
}

bool is_right(const HeldStructure::HeldChain& held, const Chain& wanted) {
  return held.hook == wanted.hook && held.policy == NF_ACCEPT &&
         std::ranges::equal(held.rules, wanted.rules, {}, {}, text_of);
}

std::string text_or_empty(const char* text) { return text == nullptr ? std::string() : text; }

// Sends a dump of one kind and calls with each answer that is of our table.
Result<> dump(NetlinkSocket& socket, std::uint16_t request,
              const std::function<void(const nlmsghdr*)>& each) {
  NetlinkMessages message;
  message.add(kMessageBytesMax, [&](char* room) {
    nlmsghdr* header =
        nftnl_nlmsg_build_hdr(room, request, NFPROTO_INET, NLM_F_DUMP, socket.next_sequence());
    // Chains, sets and rules name their table by the same attribute, and may be asked for by it.
    if (request != NFT_MSG_GETTABLE) mnl_attr_put_strz(header, NFTA_RULE_TABLE, kTableName);
  });
  return socket.dump(message.bytes(), [&](const nlmsghdr& header) -> Result<> {
    each(&header);
    return {};
  });
}

Result<> read_table(NetlinkSocket& socket, HeldStructure& held) {
  return dump(socket, NFT_MSG_GETTABLE, [&](const nlmsghdr* header) {
    Owned<nftnl_table> table = a_table();
    if (nftnl_table_nlmsg_parse(header, table.get()) < 0) return;
    if (text_or_empty(nftnl_table_get_str(table.get(), NFTNL_TABLE_NAME)) != kTableName) return;
    held.table = true;
    held.flags = nftnl_table_get_u32(table.get(), NFTNL_TABLE_FLAGS);
    std::uint32_t bytes = 0;
    const void* data = nftnl_table_get_data(table.get(), NFTNL_TABLE_USERDATA, &bytes);
    const auto* comment = static_cast<const std::uint8_t*>(data);
    if (data == nullptr || bytes < 3 || comment[0] != NFTNL_UDATA_TABLE_COMMENT) return;
    std::size_t length = std::min<std::size_t>(comment[1], bytes - 2U);
    held.mark.assign(reinterpret_cast<const char*>(comment + 2), length > 0 ? length - 1 : 0);
  });
}

Result<> read_chains(NetlinkSocket& socket, HeldStructure& held) {
  TRY(dump(socket, NFT_MSG_GETCHAIN, [&](const nlmsghdr* header) {
    Owned<nftnl_chain> chain = a_chain();
    if (nftnl_chain_nlmsg_parse(header, chain.get()) < 0) return;
    if (text_or_empty(nftnl_chain_get_str(chain.get(), NFTNL_CHAIN_TABLE)) != kTableName) return;
    HeldStructure::HeldChain& found = held.chains.emplace_back();
    found.name = text_or_empty(nftnl_chain_get_str(chain.get(), NFTNL_CHAIN_NAME));
    if (!nftnl_chain_is_set(chain.get(), NFTNL_CHAIN_HOOKNUM)) return;
    found.hook = {.type = text_or_empty(nftnl_chain_get_str(chain.get(), NFTNL_CHAIN_TYPE)),
                  .number = nftnl_chain_get_u32(chain.get(), NFTNL_CHAIN_HOOKNUM),
                  .priority = nftnl_chain_get_s32(chain.get(), NFTNL_CHAIN_PRIO)};
    found.policy = nftnl_chain_get_u32(chain.get(), NFTNL_CHAIN_POLICY);
  }));
  return dump(socket, NFT_MSG_GETRULE, [&](const nlmsghdr* header) {
    Rule rule(nftnl_rule_alloc());
    if (nftnl_rule_nlmsg_parse(header, rule.get()) < 0) return;
    if (text_or_empty(nftnl_rule_get_str(rule.get(), NFTNL_RULE_TABLE)) != kTableName) return;
    std::string name = text_or_empty(nftnl_rule_get_str(rule.get(), NFTNL_RULE_CHAIN));
    auto chain = std::ranges::find(held.chains, name, &HeldStructure::HeldChain::name);
    if (chain != held.chains.end()) chain->rules.push_back(text_of(rule));
  });
}

Result<> read_sets(NetlinkSocket& socket, HeldStructure& held) {
  return dump(socket, NFT_MSG_GETSET, [&](const nlmsghdr* header) {
    Owned<nftnl_set> set = a_set();
    if (nftnl_set_nlmsg_parse(header, set.get()) < 0) return;
    if (text_or_empty(nftnl_set_get_str(set.get(), NFTNL_SET_TABLE)) != kTableName) return;
    SetShape& shape = held.sets[text_or_empty(nftnl_set_get_str(set.get(), NFTNL_SET_NAME))];
    shape.flags = nftnl_set_get_u32(set.get(), NFTNL_SET_FLAGS);
    shape.key_bytes = nftnl_set_get_u32(set.get(), NFTNL_SET_KEY_LEN);
    shape.key_type = nftnl_set_get_u32(set.get(), NFTNL_SET_KEY_TYPE);
    if (!nftnl_set_is_set(set.get(), NFTNL_SET_DATA_TYPE)) return;
    shape.value_type = nftnl_set_get_u32(set.get(), NFTNL_SET_DATA_TYPE);
    shape.value_bytes = nftnl_set_get_u32(set.get(), NFTNL_SET_DATA_LEN);
  });
}

}  // namespace

std::vector<SetShape> wanted_sets() {
  std::vector<SetShape> shapes;
  for (IpFamily family : {IpFamily::v4, IpFamily::v6}) {
    for (SetName name : kSetNames) {
      const std::uint8_t parts = name == SetName::slots ? kSlotsParts : 1;
      for (std::uint8_t part = 0; part < parts; ++part) {
        shapes.push_back(shape_of({name, family, part}));
      }
    }
  }
  return shapes;
}

bool holds(const HeldStructure& held, const SetShape& wanted) {
  auto found = held.sets.find(to_string(wanted.id));
  if (found == held.sets.end()) return false;
  SetShape there = found->second;
  there.id = wanted.id;
  there.field_bytes = wanted.field_bytes;
  // The kernel answers with the size of its own structure.
  if (wanted.value_type == kVerdictType) there.value_bytes = wanted.value_bytes;
  return there == wanted;
}

Structure judge(const HeldStructure& held) {
  if (!held.table) return Structure::absent;
  const std::vector<Chain> chains = wanted_chains();
  const std::vector<SetShape> sets = wanted_sets();
  if (held.flags != 0 || held.chains.size() != chains.size() || held.sets.size() != sets.size()) {
    return Structure::damaged;
  }
  for (const Chain& chain : chains) {
    const HeldStructure::HeldChain* there = find(held, chain.name);
    if (there == nullptr || !is_right(*there, chain)) return Structure::damaged;
  }
  for (const SetShape& set : sets) {
    if (!holds(held, set)) return Structure::damaged;
  }
  return Structure::right;
}

void add_structure(const HeldStructure& held, NetlinkSocket& socket, NetlinkMessages& messages) {
  Writer writer(socket, messages);
  if (!held.table) writer.new_table();
  // Rules go first: what they refer to cannot go before them.
  for (const HeldStructure::HeldChain& chain : held.chains) {
    if (!chain.rules.empty()) writer.flush(chain.name);
  }
  const std::vector<Chain> chains = wanted_chains();
  const std::vector<SetShape> sets = wanted_sets();
  for (const HeldStructure::HeldChain& chain : held.chains) {
    auto wanted = std::ranges::find(chains, chain.name, &Chain::name);
    if (wanted == chains.end() || wanted->hook != chain.hook) {
      writer.chain(NFT_MSG_DELCHAIN, 0, chain.name);
    }
  }
  for (const auto& [name, shape] : held.sets) {
    bool ours = std::ranges::any_of(
        sets, [&](const SetShape& set) { return to_string(set.id) == name && holds(held, set); });
    if (!ours) writer.delete_set(name);
  }
  for (std::uint32_t i = 0; i < sets.size(); ++i) {
    if (!holds(held, sets[i])) writer.new_set(sets[i], i + 1);
  }
  // A chain that stands gets its policy back.
  for (const Chain& chain : chains) {
    writer.chain(NFT_MSG_NEWCHAIN, NLM_F_CREATE, chain.name, chain.hook);
  }
  for (const Chain& chain : chains) {
    for (const Rule& rule : chain.rules) writer.append(rule);
  }
}

void add_table_without_flags(NetlinkSocket& socket, NetlinkMessages& messages) {
  Writer(socket, messages).clear_table_flags();
}

Result<HeldStructure> read_structure(NetlinkSocket& socket) {
  HeldStructure held;
  TRY(read_table(socket, held));
  if (!held.table || held.mark != kTableMark) return held;
  TRY(read_chains(socket, held));
  TRY(read_sets(socket, held));
  return held;
}

}  // namespace isthmus::infra::drivers
