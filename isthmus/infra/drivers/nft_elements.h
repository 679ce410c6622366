// Listeners, guarded addresses and links as elements of nftables' sets and maps, byte for byte.
//
// One set or map per question and family; what each holds:
//
//   listeners   address . protocol . port            : verdict (go to the chain that chooses)
//   ports       address . protocol . port            the same keys, for the guard; carries the note
//   passed      address . protocol . port            listeners of others, likewise
//   slots       address . protocol . port . slot     : target address . port; in parts, see below
//   sources     address . protocol . port . client   as ranges of clients
//   masquerade  address . protocol . port
//   loops       address . protocol . port . client
//   guarded     address
//   links       address . address                    as pairs of equal ranges
//
// Every field of a key begins at a multiple of 4 bytes, as in the kernel's registers; addresses and
// ports are in network order, the slot in the machine's.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "isthmus/infra/drivers/driver.h"

namespace isthmus::infra::drivers {

enum class SetName : std::uint8_t {
  listeners,
  ports,
  passed,
  slots,
  sources,
  masquerade,
  loops,
  guarded,
  links,
};
inline constexpr std::array kSetNames{SetName::listeners, SetName::ports,   SetName::passed,
                                      SetName::slots,     SetName::sources, SetName::masquerade,
                                      SetName::loops,     SetName::guarded, SetName::links};

// The slots, which are many, are spread over so many sets by their listener. A set is read in
// pieces of some 700 elements, and for each piece the kernel walks it again from its beginning: one
// of 128,000 elements took 0.6 s, sixteen of 8,000 take a fifth.
inline constexpr std::uint8_t kSlotsParts = 16;

struct SetId {
  SetName name;
  IpFamily family;
  std::uint8_t part = 0;  // Of slots, below kSlotsParts.

  friend auto operator<=>(const SetId&, const SetId&) = default;
};

// "slots4_0", "links6".
std::string to_string(const SetId& set);

// The chain that a choice leads to, for listeners whose slots are in that part:
// "restricted_client6_0".
std::string chain_of(Choice choice, IpFamily family, std::uint8_t part);

// At most one key: the longest is address . protocol . port . client of IPv6.
struct Bytes {
  static constexpr std::size_t kMax = 40;
  std::array<std::uint8_t, kMax> data{};
  std::uint8_t size = 0;

  void add(std::span<const std::uint8_t> more);  // Padded to a multiple of 4.
  std::span<const std::uint8_t> view() const { return {data.data(), size}; }
  friend auto operator<=>(const Bytes&, const Bytes&) = default;
};

// One element. Elements of one set are equal in what they are about when their keys are.
struct Element {
  SetId set;
  Bytes key;
  Bytes key_end;                 // Of sources and links: the last key of the range.
  Bytes value;                   // Of slots: the target.
  Choice choice = Choice::none;  // Of listeners.
  std::string note;              // Of ports and passed.

  friend auto operator<=>(const Element&, const Element&) = default;
};

// The part in which a listener's slots are, by the beginning of any key that begins with its own.
std::uint8_t part_of(const Bytes& key, IpFamily family);

// All elements of a listener as it is given, in no particular order.
std::vector<Element> elements_of(const ListenerKey& key, const HeldListener& listener);
Element element_of(const IpAddress& guarded);
Element element_of(const IpPrefix& link);

// Enters an element that the kernel holds. invalid: it is none that elements_of() could have made,
// so somebody else put it there. busy: it was entered before. While the kernel makes a set larger
// or smaller behind a change, a reading gives some elements twice and leaves out as many.
Result<> enter(const Element& element, Held& held);

}  // namespace isthmus::infra::drivers
