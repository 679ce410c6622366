#include "isthmus/infra/drivers/nft_elements.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "isthmus/base/random.h"

namespace isthmus::infra::drivers {
namespace {

IpAddress ip(std::string_view text) { return parse_ip(text).value(); }
IpPrefix prefix(std::string_view text) { return parse_prefix(text).value(); }

HeldListener a_listener(bool v4, Random& random) {
  HeldListener listener;
  listener.choice = static_cast<Choice>(random.below(5));
  listener.announced = random.below(2) == 0;
  listener.passed = random.below(2) == 0;
  if (listener.announced || listener.passed) listener.note = "prod/web 7";
  listener.masquerade = random.below(2) == 0;
  if (random.below(2) == 0) {
    listener.sources = {prefix(v4 ? "10.0.0.0/8" : "2001:db8:8000::/33"),
                        prefix(v4 ? "192.0.2.128/25" : "fd00::/8")};
    listener.loops = {ip(v4 ? "10.0.0.1" : "fd00::1"), ip(v4 ? "10.0.0.2" : "fd00::2")};
  }
  for (Endpoint& slot : listener.slots) {
    if (random.below(3) > 0) slot = {ip(v4 ? "10.0.0.1" : "fd00::1"), 30080};
  }
  return listener;
}

TEST(nft_elements, whatever_a_listener_is_its_elements_say_it_all) {
  constexpr std::uint64_t kSeed = 20261129;
  SCOPED_TRACE(kSeed);
  SeededRandom random(kSeed);
  for (int round = 0; round < 200; ++round) {
    bool v4 = random.below(2) == 0;
    ListenerKey key{ip(v4 ? "192.0.2.1" : "2001:db8::1"),
                    random.below(2) == 0 ? Protocol::tcp : Protocol::udp,
                    static_cast<std::uint16_t>(1 + random.below(65535))};
    HeldListener listener = a_listener(v4, random);
    std::vector<Element> elements = elements_of(key, listener);
    for (std::size_t i = elements.size(); i > 1; --i) {
      std::swap(elements[i - 1], elements[random.below(i)]);
    }
    Held held;
    for (const Element& element : elements) ASSERT_TRUE(enter(element, held));
    ASSERT_EQ(held.listeners.size(), elements.empty() ? 0u : 1u);
    if (!elements.empty()) ASSERT_EQ(held.listeners.at(key), listener);
  }
}

TEST(nft_elements, what_is_read_twice_is_seen) {
  constexpr std::uint64_t kSeed = 20261130;
  SCOPED_TRACE(kSeed);
  SeededRandom random(kSeed);
  std::vector<Element> elements{element_of(ip("192.0.2.1")), element_of(prefix("10.0.0.0/8"))};
  for (int i = 0; i < 20; ++i) {
    ListenerKey key{ip("192.0.2.1"), Protocol::tcp, static_cast<std::uint16_t>(1 + i)};
    std::vector<Element> more = elements_of(key, a_listener(true, random));
    elements.insert(elements.end(), more.begin(), more.end());
  }
  Held held;
  for (const Element& element : elements) ASSERT_TRUE(enter(element, held));
  for (const Element& element : elements) ASSERT_EQ(enter(element, held).outcome(), Outcome::busy);
}

TEST(nft_elements, guarded_addresses_and_links_come_back) {
  Held held;
  for (const char* address : {"192.0.2.1", "2001:db8::1"}) {
    EXPECT_TRUE(enter(element_of(ip(address)), held));
    EXPECT_TRUE(held.guarded.contains(ip(address)));
  }
  for (const char* link : {"10.0.0.0/8", "0.0.0.0/0", "192.0.2.1/32", "2001:db8::/61"}) {
    EXPECT_TRUE(enter(element_of(prefix(link)), held));
    EXPECT_TRUE(held.links.contains(prefix(link)));
  }
}

TEST(nft_elements, keys_are_laid_out_as_the_kernels_registers) {
  HeldListener listener;
  listener.slots[3] = {ip("10.0.0.1"), 0x7580};
  std::vector<Element> elements = elements_of({ip("192.0.2.1"), Protocol::udp, 0x0102}, listener);
  ASSERT_EQ(elements.size(), 1u);
  EXPECT_EQ(to_string(elements[0].set), "slots4_7");
  std::vector<std::uint8_t> key(elements[0].key.view().begin(), elements[0].key.view().end());
  key.resize(12);  // The slot behind is in the machine's order.
  EXPECT_EQ(key, (std::vector<std::uint8_t>{192, 0, 2, 1, 17, 0, 0, 0, 1, 2, 0, 0}));
  std::vector<std::uint8_t> value(elements[0].value.view().begin(), elements[0].value.view().end());
  EXPECT_EQ(value, (std::vector<std::uint8_t>{10, 0, 0, 1, 0x75, 0x80, 0, 0}));
}

TEST(nft_elements, what_we_could_not_have_made_is_refused_and_leaves_no_trace) {
  HeldListener listener;
  listener.choice = Choice::random;
  listener.sources = {prefix("10.0.0.0/8")};
  listener.slots[0] = {ip("10.0.0.1"), 80};
  for (const Element& good : elements_of({ip("192.0.2.1"), Protocol::tcp, 80}, listener)) {
    auto refused = [&](auto damage) {
      Element element = good;
      damage(element);
      Held held;
      EXPECT_EQ(enter(element, held).outcome(), Outcome::invalid) << to_string(element.set);
      EXPECT_TRUE(held.listeners.empty());
    };
    refused([](Element& element) { element.key.data[4] = 132; });  // SCTP
    refused([](Element& element) { element.key.size -= 4; });
    refused([](Element& element) { element.key.add(std::array<std::uint8_t, 4>{}); });
    if (good.set.name == SetName::listeners) {
      refused([](Element& element) { element.choice = Choice::none; });
    }
    if (good.set.name == SetName::sources) {
      refused([](Element& element) { element.key_end.data[12] = 12; });  // No prefix.
      refused([](Element& element) { element.key_end.data[3] = 2; });
    }
    if (good.set.name == SetName::slots) {
      refused([](Element& element) { element.key.data[13] = 1; });  // Slot 256, or larger.
      refused([](Element& element) { element.value.size = 4; });
      refused([](Element& element) { element.set.part ^= 1; });
    }
  }
  Element link = element_of(prefix("10.0.0.0/8"));
  link.key.data[4] = 11;
  Held held;
  EXPECT_EQ(enter(link, held).outcome(), Outcome::invalid);
}

TEST(nft_elements, the_slots_of_many_listeners_are_spread_evenly_over_the_parts) {
  std::array<int, kSlotsParts> listeners{};
  HeldListener listener;
  listener.slots[0] = {ip("10.0.0.1"), 80};
  for (std::uint8_t i = 0; i < 80; ++i) {
    IpAddress address = ip("192.0.2.0");
    address.bytes[3] = i;
    ++listeners[elements_of({address, Protocol::tcp, 80}, listener)[0].set.part];
  }
  for (int count : listeners) EXPECT_EQ(count, 80 / kSlotsParts);
}

TEST(nft_elements, chains_are_named_by_choice_family_and_part) {
  EXPECT_EQ(chain_of(Choice::random, IpFamily::v4, 0), "random4_0");
  EXPECT_EQ(chain_of(Choice::restricted_client, IpFamily::v6, 7), "restricted_client6_7");
}

}  // namespace
}  // namespace isthmus::infra::drivers
