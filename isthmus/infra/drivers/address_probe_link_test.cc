// Probes with real packets; the rest of address_probe.h is in address_probe_test.cc.
#include <gtest/gtest.h>
#include <poll.h>

#include <functional>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "isthmus/infra/drivers/address_probe.h"
#include "isthmus/infra/drivers/lab_testing.h"
#include "isthmus/infra/drivers/real_time_testing.h"

namespace isthmus::infra::drivers {
namespace {

using namespace std::chrono_literals;
using Taken = std::optional<Claim>;

IpAddress ip(std::string_view text) { return parse_ip(text).value(); }

constexpr MacAddress kNeighbour{2, 0, 0, 0, 0, 9};

Task<Result<>> ask_one(AddressProbe& probe, BoundAddress address, Result<Taken>& answer) {
  answer = co_await probe.ask(std::move(address));
  co_return Result<>{};
}

// The answers in the order of the questions.
Task<Result<std::vector<Result<Taken>>>> ask_all(AddressProbe& probe,
                                                 std::vector<BoundAddress> addresses) {
  Scope& here = co_await current_scope();
  std::vector<Result<Taken>> answers(addresses.size());
  Scope scope(here);
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    scope.spawn(ask_one, std::ref(probe), addresses[i], std::ref(answers[i]));
  }
  CO_TRY(co_await scope.join());
  co_return answers;
}

// Two hosts at once: what each of them hears.
Task<Result<std::pair<Taken, Taken>>> ask_both(AddressProbe& one, AddressProbe& two,
                                               IpAddress wanted) {
  Scope& here = co_await current_scope();
  Result<Taken> first;
  Result<Taken> second;
  Scope scope(here);
  scope.spawn(ask_one, std::ref(one), BoundAddress{wanted, "lan"}, std::ref(first));
  scope.spawn(ask_one, std::ref(two), BoundAddress{wanted, "eth0"}, std::ref(second));
  CO_TRY(co_await scope.join());
  Taken heard_by_first = CO_TRY(std::move(first));
  Taken heard_by_second = CO_TRY(std::move(second));
  co_return std::pair(heard_by_first, heard_by_second);
}

class AddressProbeLinkTest : public testing::PrivilegedTest {
 protected:
  void SetUp() override {
    PrivilegedTest::SetUp();
    if (!granted) return;
    neighbour.emplace();
    host.emplace();
    host->ip("link add lan type veth peer name eth0 address 02:00:00:00:00:09 netns " +
             neighbour->path() + "\nlink set lan up");
    neighbour->ip(
        "link set eth0 up\naddr add 10.88.0.2/24 dev eth0\naddr add fd88::2/64 dev eth0 nodad");
    host->enter();
    link.emplace(LinkProbe::open().value());
    probe.emplace(*link);
    wait_for_carrier(true);
  }

  // The kernel looks after links in its own time, at most once a second.
  void wait_for_carrier(bool wanted) {
    host->enter();
    PacketSocket socket = PacketSocket::open(FrameKind::arp).value();
    constexpr int kTries = 500;
    for (int i = 0; i < kTries && socket.link("lan")->carrier != wanted; ++i) {
      (void)::poll(nullptr, 0, 10);
    }
  }

  std::vector<Result<Taken>> ask(std::vector<std::string_view> texts) {
    std::vector<BoundAddress> addresses;
    for (std::string_view text : texts) addresses.push_back({ip(text), "lan"});
    return testing::run_in_real_time(ask_all(*probe, addresses)).value();
  }

  std::optional<testing::Namespace> neighbour;
  std::optional<testing::Namespace> host;
  std::optional<LinkProbe> link;
  std::optional<AddressProbe> probe;
};

TEST_F(AddressProbeLinkTest, an_address_that_nobody_has_is_free) {
  EXPECT_EQ(ask({"10.88.0.100", "fd88::100"}), (std::vector<Result<Taken>>{Taken{}, Taken{}}));
}

TEST_F(AddressProbeLinkTest, a_neighbours_address_is_taken_and_says_by_whom) {
  std::vector<Result<Taken>> answers = ask({"10.88.0.2", "fd88::2"});
  EXPECT_EQ(answers[0], (Taken{{ip("10.88.0.2"), kNeighbour}}));
  EXPECT_EQ(answers[1], (Taken{{ip("fd88::2"), kNeighbour}}));
}

TEST_F(AddressProbeLinkTest, two_hundred_take_one_window) {
  std::vector<BoundAddress> addresses;
  for (int i = 0; i < 100; ++i) {
    addresses.push_back({ip(fmt::format("10.88.0.{}", i + 1)), "lan"});
    addresses.push_back({ip(fmt::format("fd88::{:x}", i + 1)), "lan"});
  }
  testing::RealTimeDriver clock;
  Moment begun = clock.now();
  const Result<std::vector<Result<Taken>>> answers =
      testing::run_in_real_time(ask_all(*probe, addresses));
  Duration taken = clock.now() - begun;
  ASSERT_TRUE(answers) << answers.error().message;
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    bool has = addresses[i].address == ip("10.88.0.2") || addresses[i].address == ip("fd88::2");
    ASSERT_TRUE((*answers)[i]) << (*answers)[i].error().message;
    EXPECT_EQ((*answers)[i]->has_value(), has) << to_string(addresses[i].address);
  }
  EXPECT_GE(taken, 300ms);
  // One after the other they would take a minute.
  EXPECT_LT(taken, 3s);
}

TEST_F(AddressProbeLinkTest, of_two_hosts_that_ask_at_the_same_time_one_at_most_gets_it) {
  neighbour->enter();
  LinkProbe other_link = LinkProbe::open().value();
  AddressProbe other(other_link);
  for (const char* address : {"10.88.0.100", "fd88::100"}) {
    auto seen = testing::run_in_real_time(ask_both(*probe, other, ip(address)));
    ASSERT_TRUE(seen) << seen.error().message;
    const Taken& heard = seen->first ? seen->first : seen->second;
    ASSERT_TRUE(heard) << "both got it";
    EXPECT_EQ(heard->address, ip(address));
    EXPECT_TRUE(heard->probing);
  }
}

TEST_F(AddressProbeLinkTest, an_interface_without_neighbours_has_no_duplicates) {
  host->ip("link set lo up");
  EXPECT_EQ(testing::run_in_real_time(probe->ask({ip("10.88.0.100"), "lo"})), Taken{});
}

TEST_F(AddressProbeLinkTest, a_link_that_carries_nothing_is_not_silence) {
  neighbour->ip("link set eth0 down");
  wait_for_carrier(false);
  EXPECT_EQ(ask({"10.88.0.100"})[0].outcome(), Outcome::busy);
  host->ip("link del lan");
  EXPECT_EQ(ask({"10.88.0.100"})[0].outcome(), Outcome::absent);
}

}  // namespace
}  // namespace isthmus::infra::drivers
