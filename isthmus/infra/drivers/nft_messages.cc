#include "isthmus/infra/drivers/nft_messages.h"

#include <arpa/inet.h>
#include <libmnl/libmnl.h>
#include <libnftnl/common.h>
#include <libnftnl/udata.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>

#include <fmt/format.h>

#include "isthmus/infra/drivers/netlink_attributes_impl.h"
#include "isthmus/infra/drivers/nft_rules.h"

namespace isthmus::infra::drivers {
namespace {

// The list of elements is one attribute, whose length has 16 bits; and an element with its key,
// range end, value or note takes no more than this.
constexpr std::size_t kElementBytesMax = 512;
constexpr std::size_t kListBytesMax = 48 * 1024;

void put_value(nlmsghdr* header, std::uint16_t type, const Bytes& bytes) {
  nlattr* nest = mnl_attr_nest_start(header, type);
  mnl_attr_put(header, NFTA_DATA_VALUE, bytes.size, bytes.data.data());
  mnl_attr_nest_end(header, nest);
}

void put_verdict(nlmsghdr* header, const std::string& chain) {
  nlattr* data = mnl_attr_nest_start(header, NFTA_SET_ELEM_DATA);
  nlattr* verdict = mnl_attr_nest_start(header, NFTA_DATA_VERDICT);
  mnl_attr_put_u32(header, NFTA_VERDICT_CODE, htonl(static_cast<std::uint32_t>(NFT_GOTO)));
  mnl_attr_put_strz(header, NFTA_VERDICT_CHAIN, chain.c_str());
  mnl_attr_nest_end(header, verdict);
  mnl_attr_nest_end(header, data);
}

// As a comment, so that `nft list` shows it.
void put_note(nlmsghdr* header, const std::string& note) {
  std::array<char, kNoteBytesMax + 3> comment{};
  std::size_t bytes = std::min(note.size(), kNoteBytesMax);
  comment[0] = NFTNL_UDATA_SET_ELEM_COMMENT;
  comment[1] = static_cast<char>(bytes + 1);
  std::copy_n(note.begin(), bytes, comment.begin() + 2);
  mnl_attr_put(header, NFTA_SET_ELEM_USERDATA, bytes + 3, comment.data());
}

void put_element(nlmsghdr* header, const Element& element, bool with_value) {
  nlattr* nest = mnl_attr_nest_start(header, NFTA_LIST_ELEM);
  if (element.key.size > 0) {
    put_value(header, NFTA_SET_ELEM_KEY, element.key);
  } else {
    mnl_attr_put_u32(header, NFTA_SET_ELEM_FLAGS, htonl(NFT_SET_ELEM_CATCHALL));
  }
  if (element.key_end.size > 0) put_value(header, NFTA_SET_ELEM_KEY_END, element.key_end);
  if (with_value) {
    if (element.value.size > 0) put_value(header, NFTA_SET_ELEM_DATA, element.value);
    if (element.choice != Choice::none) {
      put_verdict(header, chain_of(element.choice, element.set.family,
                                   part_of(element.key, element.set.family)));
    }
    if (!element.note.empty()) put_note(header, element.note);
  }
  mnl_attr_nest_end(header, nest);
}

// All elements, which are sorted by set, in as few messages as hold them.
void add_elements(std::span<const Element> elements, std::uint16_t type, std::uint16_t flags,
                  NetlinkSocket& socket, NetlinkMessages& messages) {
  for (std::size_t next = 0; next < elements.size();) {
    const SetId set = elements[next].set;
    std::size_t most = std::min(kListBytesMax, (elements.size() - next) * kElementBytesMax);
    messages.add(most + kElementBytesMax, [&](char* room) {
      nlmsghdr* header =
          nftnl_nlmsg_build_hdr(room, type, NFPROTO_INET, flags, socket.next_sequence());
      mnl_attr_put_strz(header, NFTA_SET_ELEM_LIST_TABLE, kTableName);
      mnl_attr_put_strz(header, NFTA_SET_ELEM_LIST_SET, to_string(set).c_str());
      nlattr* list = mnl_attr_nest_start(header, NFTA_SET_ELEM_LIST_ELEMENTS);
      while (next < elements.size() && elements[next].set == set &&
             header->nlmsg_len + kElementBytesMax <= kListBytesMax) {
        put_element(header, elements[next++], type == NFT_MSG_NEWSETELEM);
      }
      mnl_attr_nest_end(header, list);
    });
  }
}

// The last header among messages.
nlmsghdr* last_of(std::span<char> messages) {
  auto* header = reinterpret_cast<nlmsghdr*>(messages.data());
  int left = static_cast<int>(messages.size());
  for (;;) {
    int behind = left;
    nlmsghdr* next = mnl_nlmsg_next(header, &behind);
    if (behind <= 0) return header;
    header = next;
    left = behind;
  }
}

// Empty when there is none, or one longer than any of ours.
Bytes read_value(const nlattr* attribute) {
  const nlattr* value = nested(attribute)[NFTA_DATA_VALUE];
  Bytes bytes;
  if (value == nullptr || mnl_attr_get_payload_len(value) > Bytes::kMax) return bytes;
  bytes.add({static_cast<const std::uint8_t*>(mnl_attr_get_payload(value)),
             mnl_attr_get_payload_len(value)});
  return bytes;
}

// none: a verdict that we never write.
Choice read_choice(const nlattr* data, IpFamily family, std::uint8_t part) {
  Attributes verdict = nested(nested(data)[NFTA_DATA_VERDICT]);
  const nlattr* code = verdict[NFTA_VERDICT_CODE];
  const nlattr* chain = verdict[NFTA_VERDICT_CHAIN];
  if (code == nullptr || chain == nullptr) return Choice::none;
  if (mnl_attr_validate(code, MNL_TYPE_U32) < 0 ||
      mnl_attr_validate(chain, MNL_TYPE_NUL_STRING) < 0 ||
      static_cast<std::int32_t>(ntohl(mnl_attr_get_u32(code))) != NFT_GOTO) {
    return Choice::none;
  }
  for (Choice choice :
       {Choice::random, Choice::client, Choice::restricted_random, Choice::restricted_client}) {
    if (chain_of(choice, family, part) == mnl_attr_get_str(chain)) return choice;
  }
  return Choice::none;
}

std::string read_note(const nlattr* attribute) {
  if (attribute == nullptr) return {};
  const auto* data = static_cast<const char*>(mnl_attr_get_payload(attribute));
  std::size_t bytes = mnl_attr_get_payload_len(attribute);
  if (bytes < 3 || data[0] != NFTNL_UDATA_SET_ELEM_COMMENT) return {};
  std::size_t length = std::min<std::size_t>(static_cast<std::uint8_t>(data[1]), bytes - 2);
  return std::string(data + 2, length > 0 ? length - 1 : 0);
}

Element read_element(const nlattr* attribute, const SetId& set) {
  Attributes parts = nested(attribute);
  Element element{.set = set};
  element.key = read_value(parts[NFTA_SET_ELEM_KEY]);
  element.key_end = read_value(parts[NFTA_SET_ELEM_KEY_END]);
  if (set.name == SetName::listeners) {
    element.choice =
        read_choice(parts[NFTA_SET_ELEM_DATA], set.family, part_of(element.key, set.family));
  } else {
    element.value = read_value(parts[NFTA_SET_ELEM_DATA]);
  }
  element.note = read_note(parts[NFTA_SET_ELEM_USERDATA]);
  return element;
}

}  // namespace

void add_changes(std::vector<Element> from, std::vector<Element> to, NetlinkSocket& socket,
                 NetlinkMessages& messages) {
  std::ranges::sort(from);
  std::ranges::sort(to);
  std::vector<Element> removed;
  std::vector<Element> added;
  std::ranges::set_difference(from, to, std::back_inserter(removed));
  std::ranges::set_difference(to, from, std::back_inserter(added));
  add_elements(removed, NFT_MSG_DELSETELEM, 0, socket, messages);
  add_elements(added, NFT_MSG_NEWSETELEM, NLM_F_CREATE | NLM_F_EXCL, socket, messages);
}

Result<> commit(const NetlinkMessages& messages, NetlinkSocket& socket) {
  NetlinkMessages transaction;
  transaction.add(kTransactionOverheadBytes,
                  [&](char* room) { nftnl_batch_begin(room, socket.next_sequence()); });
  transaction.append(messages);
  nlmsghdr* last = last_of(transaction.bytes());
  last->nlmsg_flags |= NLM_F_ACK;
  std::uint32_t acknowledged = last->nlmsg_seq;
  transaction.add(kTransactionOverheadBytes,
                  [&](char* room) { nftnl_batch_end(room, socket.next_sequence()); });
  Result<> done = socket.transact(transaction.bytes(), acknowledged);
  // What should go is not there: the kernel is not as we believed.
  if (done.outcome() == Outcome::absent) done.error().outcome = Outcome::conflict;
  return done;
}

Result<> read_elements(const SetId& set, NetlinkSocket& socket,
                       const std::function<Result<>(const Element&)>& each) {
  NetlinkMessages request;
  request.add(kElementBytesMax, [&](char* room) {
    nlmsghdr* header = nftnl_nlmsg_build_hdr(room, NFT_MSG_GETSETELEM, NFPROTO_INET, NLM_F_DUMP,
                                             socket.next_sequence());
    mnl_attr_put_strz(header, NFTA_SET_ELEM_LIST_TABLE, kTableName);
    mnl_attr_put_strz(header, NFTA_SET_ELEM_LIST_SET, to_string(set).c_str());
  });
  return socket.dump(request.bytes(), [&](const nlmsghdr& header) -> Result<> {
    const nlattr* list = attributes_of(inside(header))[NFTA_SET_ELEM_LIST_ELEMENTS];
    return each_attribute(inside(list), [&](const nlattr* attribute) -> Result<> {
      return each(read_element(attribute, set));
    });
  });
}

Result<std::uint32_t> read_generation(NetlinkSocket& socket) {
  NetlinkMessages request;
  request.add(kElementBytesMax, [&](char* room) {
    nftnl_nlmsg_build_hdr(room, NFT_MSG_GETGEN, AF_UNSPEC, 0, socket.next_sequence());
  });
  std::uint32_t generation = 0;
  TRY(socket.ask(request.bytes(), [&](const nlmsghdr& header) -> Result<> {
    const nlattr* id = attributes_of(inside(header))[NFTA_GEN_ID];
    if (id == nullptr || mnl_attr_validate(id, MNL_TYPE_U32) < 0) {
      return fail(Outcome::lost, "the kernel names no generation of its rules");
    }
    generation = ntohl(mnl_attr_get_u32(id));
    return {};
  }));
  return generation;
}

}  // namespace isthmus::infra::drivers
