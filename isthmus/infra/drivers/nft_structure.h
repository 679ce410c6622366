// The fixed part of the data plane as a whole: table `inet isthmus`, its sets and its chains
// (nft_rules.h). What of it the kernel holds, whether that is right, and how it is made so.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "isthmus/infra/drivers/netlink_socket.h"
#include "isthmus/infra/drivers/nft_elements.h"
#include "isthmus/infra/drivers/nft_rules.h"

namespace isthmus::infra::drivers {

// The table's comment, by which we know it as ours.
inline constexpr const char* kTableMark = "made by isthmus infra";

struct SetShape {
  SetId id;
  std::uint32_t flags = 0;
  std::uint32_t key_bytes = 0;
  std::uint32_t key_type = 0;  // For those who print sets; the kernel only keeps it.
  std::uint32_t value_bytes = 0;
  std::uint32_t value_type = 0;
  std::vector<std::uint8_t> field_bytes;  // Of keys that are ranges.

  friend bool operator==(const SetShape&, const SetShape&) = default;
};

// Of every set and family.
std::vector<SetShape> wanted_sets();

// What of the structure a kernel holds, as far as it matters.
struct HeldStructure {
  struct HeldChain {
    std::string name;
    Hook hook;
    std::uint32_t policy = 1;        // NF_ACCEPT
    std::vector<std::string> rules;  // As text_of() prints them.
  };
  bool table = false;
  std::string mark;         // The table's comment.
  std::uint32_t flags = 0;  // Of the table; ours has none. A dormant one does nothing.
  std::vector<HeldChain> chains;
  std::map<std::string, SetShape> sets;  // Without the sizes of their fields.
};

Structure judge(const HeldStructure& held);

// Whether the kernel holds this set, and in the form we give it.
bool holds(const HeldStructure& held, const SetShape& wanted);

// Appends the messages that make right what is held, as the inside of one transaction. Elements of
// sets that are as they should be stay; chains and sets that are none of ours go. About 80 kB.
void add_structure(const HeldStructure& held, NetlinkSocket& socket, NetlinkMessages& messages);

// Appends what takes all flags off the table, as a transaction of its own: the kernel takes no
// other change of a table together with this one.
void add_table_without_flags(NetlinkSocket& socket, NetlinkMessages& messages);

// Reads the structure; changes nothing. A table without our mark has no chains and sets here.
Result<HeldStructure> read_structure(NetlinkSocket& socket);

}  // namespace isthmus::infra::drivers
