#include "isthmus/infra/drivers/nft_elements.h"

#include <netinet/in.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace isthmus::infra::drivers {
namespace {

constexpr std::array<std::string_view, kSetNames.size()> kBaseNames{
    "listeners", "ports", "passed", "slots", "sources", "masquerade", "loops", "guarded", "links"};

std::size_t size_of(IpFamily family) { return family == IpFamily::v4 ? 4 : 16; }

// Adds fields to a key one after the other.
void add_address(Bytes& bytes, const IpAddress& address) {
  bytes.add({address.bytes.data(), address.size()});
}

void add_port(Bytes& bytes, std::uint16_t port) {
  bytes.add(std::array{static_cast<std::uint8_t>(port >> 8), static_cast<std::uint8_t>(port)});
}

void add_slot(Bytes& bytes, std::uint32_t slot) {
  bytes.add(std::bit_cast<std::array<std::uint8_t, 4>>(slot));
}

Bytes listener_key(const ListenerKey& key) {
  Bytes bytes;
  add_address(bytes, key.address);
  bytes.add(std::array{
      static_cast<std::uint8_t>(key.protocol == Protocol::tcp ? IPPROTO_TCP : IPPROTO_UDP)});
  add_port(bytes, key.port);
  return bytes;
}

// Takes the fields out again; good() is false once something did not fit.
class Reader {
 public:
  Reader(const Bytes& bytes, IpFamily family) : bytes_(bytes), family_(family) {}

  IpAddress address() {
    IpAddress address{family_, {}};
    std::ranges::copy(take(size_of(family_), size_of(family_)), address.bytes.begin());
    return address;
  }
  std::uint16_t port() {
    auto field = take(2, 4);
    return static_cast<std::uint16_t>(field[0] << 8 | field[1]);
  }
  std::uint32_t slot() {
    std::uint32_t slot = 0;
    std::memcpy(&slot, take(4, 4).data(), sizeof slot);
    if (slot >= kSlots) good_ = false;
    return slot;
  }
  ListenerKey listener() {
    ListenerKey key{address(), Protocol::tcp, 0};
    std::uint8_t protocol = take(1, 4)[0];
    if (protocol != IPPROTO_TCP && protocol != IPPROTO_UDP) good_ = false;
    if (protocol == IPPROTO_UDP) key.protocol = Protocol::udp;
    key.port = port();
    return key;
  }
  bool good() const { return good_; }
  // Whether that was all.
  bool done() const { return good_ && offset_ == bytes_.size; }

 private:
  std::span<const std::uint8_t> take(std::size_t size, std::size_t padded) {
    static constexpr std::array<std::uint8_t, 16> kZeros{};
    if (offset_ + padded > bytes_.size) good_ = false;
    if (!good_) return {kZeros.data(), size};
    std::span<const std::uint8_t> field{bytes_.data.data() + offset_, size};
    offset_ += padded;
    return field;
  }

  const Bytes& bytes_;
  const IpFamily family_;
  std::size_t offset_ = 0;
  bool good_ = true;
};

// The prefix from first to last, if that is one.
std::optional<IpPrefix> prefix_between(const IpAddress& first, const IpAddress& last) {
  for (unsigned bits = 0; bits <= first.size() * 8; ++bits) {
    IpPrefix prefix{first, static_cast<std::uint8_t>(bits)};
    if (prefix.contains(first) && prefix.last() == last) return prefix;
  }
  return std::nullopt;
}

// What entering an element comes to.
enum class Entered : std::uint8_t { once, again, foreign };

Entered once_if(bool first) { return first ? Entered::once : Entered::again; }

Result<> answer(Entered entered, const Element& element) {
  switch (entered) {
    case Entered::once:
      return {};
    case Entered::again:
      return fail(Outcome::busy, fmt::format("{} is being resized", to_string(element.set)));
    case Entered::foreign:
      break;
  }
  return fail(Outcome::invalid,
              fmt::format("an element of {} that we did not make", to_string(element.set)));
}

Entered enter_link(const Element& element, Held& held) {
  Reader from(element.key, element.set.family);
  Reader to(element.key_end, element.set.family);
  IpAddress first = from.address();
  IpAddress last = to.address();
  bool pair = first == from.address() && last == to.address() && from.done() && to.done();
  std::optional<IpPrefix> link = prefix_between(first, last);
  if (!pair || !link) return Entered::foreign;
  return once_if(held.links.insert(*link).second);
}

Entered enter_guarded(const Element& element, Held& held) {
  Reader reader(element.key, element.set.family);
  IpAddress address = reader.address();
  if (!reader.done()) return Entered::foreign;
  return once_if(held.guarded.insert(address).second);
}

// Into a sorted list.
template <class T>
Entered insert(std::vector<T>& list, const T& value) {
  auto place = std::ranges::lower_bound(list, value);
  if (place != list.end() && *place == value) return Entered::again;
  list.insert(place, value);
  return Entered::once;
}

// The part of an element that is about clients.
Entered enter_source(const Element& element, Reader& reader, const ListenerKey& key,
                     HeldListener& listener) {
  Reader end(element.key_end, element.set.family);
  IpAddress first = reader.address();
  bool same_listener = end.listener() == key;
  IpAddress last = end.address();
  std::optional<IpPrefix> prefix = prefix_between(first, last);
  if (!reader.done() || !same_listener || !end.done() || !prefix) return Entered::foreign;
  return insert(listener.sources, *prefix);
}

Entered enter_slot(const Element& element, Reader& reader, HeldListener& listener) {
  std::uint32_t slot = reader.slot();
  Reader value(element.value, element.set.family);
  Endpoint endpoint{value.address(), value.port()};
  bool right_part = element.set.part == part_of(element.key, element.set.family);
  if (!reader.done() || !value.done() || endpoint.port == 0 || !right_part) return Entered::foreign;
  return once_if(std::exchange(listener.slots[slot], endpoint).port == 0);
}

Entered enter_note(const Element& element, bool& there, HeldListener& listener) {
  listener.note = element.note;
  return once_if(!std::exchange(there, true));
}

Entered enter_listener(const Element& element, Reader& reader, const ListenerKey& key,
                       HeldListener& listener) {
  if (element.set.name == SetName::slots) return enter_slot(element, reader, listener);
  if (element.set.name == SetName::sources) return enter_source(element, reader, key, listener);
  if (element.set.name == SetName::loops) {
    IpAddress client = reader.address();
    return reader.done() ? insert(listener.loops, client) : Entered::foreign;
  }
  if (!reader.done()) return Entered::foreign;
  switch (element.set.name) {
    case SetName::listeners:
      if (element.choice == Choice::none) return Entered::foreign;
      return once_if(std::exchange(listener.choice, element.choice) == Choice::none);
    case SetName::ports:
      return enter_note(element, listener.announced, listener);
    case SetName::passed:
      return enter_note(element, listener.passed, listener);
    case SetName::masquerade:
      return once_if(!std::exchange(listener.masquerade, true));
    default:
      return Entered::foreign;
  }
}

}  // namespace

std::string to_string(const SetId& set) {
  std::string name = fmt::format("{}{}", kBaseNames[static_cast<std::size_t>(set.name)],
                                 set.family == IpFamily::v4 ? 4 : 6);
  return set.name == SetName::slots ? fmt::format("{}_{}", name, set.part) : name;
}

std::string chain_of(Choice choice, IpFamily family, std::uint8_t part) {
  static constexpr std::array<std::string_view, 5> kNames{"", "random", "client",
                                                          "restricted_random", "restricted_client"};
  ISTHMUS_ASSERT(choice != Choice::none, "no chain serves nothing");
  return fmt::format("{}{}_{}", kNames[static_cast<std::size_t>(choice)],
                     family == IpFamily::v4 ? 4 : 6, part);
}

// A sum spreads neighbouring addresses and ports evenly. Kernels keep elements where it says, so it
// must never change.
std::uint8_t part_of(const Bytes& key, IpFamily family) {
  const std::span<const std::uint8_t> listener =
      key.view().first(std::min<std::size_t>(key.size, size_of(family) + 8));
  unsigned sum = 0;
  for (std::uint8_t byte : listener) sum += byte;
  return static_cast<std::uint8_t>(sum % kSlotsParts);
}

void Bytes::add(std::span<const std::uint8_t> more) {
  std::size_t padded = (more.size() + 3) / 4 * 4;
  ISTHMUS_ASSERT(size + padded <= kMax, "a key that is longer than any");
  std::ranges::copy(more, data.begin() + size);
  size = static_cast<std::uint8_t>(size + padded);
}

std::vector<Element> elements_of(const ListenerKey& key, const HeldListener& listener) {
  const IpFamily family = key.address.family;
  const Bytes plain = listener_key(key);
  const std::uint8_t part = part_of(plain, family);
  std::vector<Element> elements;
  elements.reserve(kSlots + 3 + listener.sources.size() + listener.loops.size());
  auto add = [&](SetName name) -> Element& {
    return elements.emplace_back(Element{.set = {name, family}, .key = plain});
  };
  if (listener.choice != Choice::none) add(SetName::listeners).choice = listener.choice;
  if (listener.announced) add(SetName::ports).note = listener.note;
  if (listener.passed) add(SetName::passed).note = listener.note;
  if (listener.masquerade) add(SetName::masquerade);
  for (const IpPrefix& source : listener.sources) {
    Element& element = add(SetName::sources);
    element.key_end = plain;
    add_address(element.key, source.address);
    add_address(element.key_end, source.last());
  }
  for (const IpAddress& client : listener.loops) add_address(add(SetName::loops).key, client);
  for (std::uint32_t slot = 0; slot < kSlots; ++slot) {
    const Endpoint& owner = listener.slots[slot];
    if (owner.port == 0) continue;
    Element& element = add(SetName::slots);
    element.set.part = part;
    add_slot(element.key, slot);
    add_address(element.value, owner.address);
    add_port(element.value, owner.port);
  }
  return elements;
}

Element element_of(const IpAddress& guarded) {
  Element element{.set = {SetName::guarded, guarded.family}};
  add_address(element.key, guarded);
  return element;
}

Element element_of(const IpPrefix& link) {
  Element element{.set = {SetName::links, link.address.family}};
  for (int side = 0; side < 2; ++side) {
    add_address(element.key, link.address);
    add_address(element.key_end, link.last());
  }
  return element;
}

Result<> enter(const Element& element, Held& held) {
  if (element.set.name == SetName::guarded) return answer(enter_guarded(element, held), element);
  if (element.set.name == SetName::links) return answer(enter_link(element, held), element);
  Reader reader(element.key, element.set.family);
  ListenerKey key = reader.listener();
  if (!reader.good()) return answer(Entered::foreign, element);
  auto [listener, is_new] = held.listeners.try_emplace(key);
  Entered entered = enter_listener(element, reader, key, listener->second);
  // What is not understood whole leaves no trace.
  if (entered == Entered::foreign && is_new) held.listeners.erase(listener);
  return answer(entered, element);
}

}  // namespace isthmus::infra::drivers
