#include "isthmus/infra/drivers/address_probe.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "isthmus/base/fan_out.h"
#include "isthmus/base/virtual_world.h"

namespace isthmus::infra::drivers {
namespace {

using namespace std::chrono_literals;

IpAddress ip(std::string_view text) { return parse_ip(text).value(); }

constexpr MacAddress kNeighbour{2, 0, 0, 0, 0, 9};
const BoundAddress kWanted{ip("192.0.2.1"), "lan"};

// A link on which the test says who answers.
class FakeLink final : public ProbeLink {
 public:
  explicit FakeLink(Loop& loop) : loop_(loop) {}

  Result<> ask(const BoundAddress& address) override {
    asked.emplace_back(loop_.now() - Moment{}, address);
    listening = true;
    if (refusal != Outcome::ok) return fail(refusal, "refused");
    if (auto owner = owners.find(address); owner != owners.end()) {
      waiting_.push_back({address.interface, owner->second});
    }
    return {};
  }
  Result<std::vector<Heard>> heard() override { return std::exchange(waiting_, {}); }
  void rest() override { listening = false; }

  void say(Heard heard) { waiting_.push_back(std::move(heard)); }

  std::vector<std::pair<Duration, BoundAddress>> asked;
  std::map<BoundAddress, Claim> owners;
  Outcome refusal = Outcome::ok;
  bool listening = false;

 private:
  Loop& loop_;
  std::vector<Heard> waiting_;
};

class AddressProbeTest : public ::testing::Test {
 protected:
  using Taken = std::optional<Claim>;

  static Task<Result<>> ask_one(AddressProbe& probe, BoundAddress address,
                                std::vector<Result<Taken>>& answers) {
    Result<Taken> answer = co_await probe.ask(std::move(address));
    answers.push_back(std::move(answer));
    co_return Result<>{};
  }
  static Task<Result<>> ask_all(AddressProbe& probe, std::vector<BoundAddress> addresses,
                                std::vector<Result<Taken>>& answers) {
    Scope& here = co_await current_scope();
    Scope scope(here);
    for (const BoundAddress& one : addresses) {
      scope.spawn(ask_one, std::ref(probe), one, std::ref(answers));
    }
    co_return co_await scope.join();
  }

  VirtualWorld world;
  FakeLink link{world.loop};
  AddressProbe probe{link};
};

TEST_F(AddressProbeTest, silence_for_the_window_is_free) {
  Result<Taken> taken = world.run(probe.ask(kWanted));
  EXPECT_EQ(taken, Taken{});
  EXPECT_EQ(world.elapsed(), 300ms);
  ASSERT_EQ(link.asked.size(), 3u);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(link.asked[i], std::pair(Duration(i * 100ms), kWanted));
  EXPECT_FALSE(link.listening);
}

TEST_F(AddressProbeTest, an_answer_is_taken_and_ends_the_questions) {
  link.owners[kWanted] = {kWanted.address, kNeighbour};
  EXPECT_EQ(world.run(probe.ask(kWanted)), (Taken{{kWanted.address, kNeighbour}}));
  EXPECT_EQ(link.asked.size(), 1u);
  EXPECT_FALSE(link.listening);
}

TEST_F(AddressProbeTest, so_is_somebody_elses_question_in_the_last_moment) {
  Scope scope(world.loop);
  std::vector<Result<Taken>> answers;
  scope.spawn(ask_one, std::ref(probe), kWanted, std::ref(answers));
  world.advance(299ms);
  link.say({"lan", {kWanted.address, kNeighbour, true}});
  world.advance(1ms);
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0], (Taken{{kWanted.address, kNeighbour, true}}));
}

TEST_F(AddressProbeTest, answers_of_other_links_and_for_other_addresses_do_not_count) {
  Scope scope(world.loop);
  std::vector<Result<Taken>> answers;
  scope.spawn(ask_one, std::ref(probe), kWanted, std::ref(answers));
  world.advance(1ms);
  link.say({"wan", {kWanted.address, kNeighbour}});
  link.say({"lan", {ip("192.0.2.2"), kNeighbour}});
  world.advance(1s);
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0], Taken{});
}

TEST_F(AddressProbeTest, a_thousand_take_as_long_as_one) {
  std::vector<BoundAddress> addresses;
  for (int i = 0; i < 1000; ++i) {
    addresses.push_back({ip(fmt::format("10.1.{}.{}", i / 250, i % 250 + 1)), "lan"});
  }
  link.owners[addresses[700]] = {addresses[700].address, kNeighbour};
  std::vector<Result<Taken>> answers;
  ASSERT_TRUE(world.run(ask_all(probe, addresses, answers)));
  EXPECT_EQ(world.elapsed(), 300ms);
  ASSERT_EQ(answers.size(), 1000u);
  EXPECT_EQ(std::ranges::count(answers, Result<Taken>(Taken{})), 999);
  EXPECT_EQ(answers[0], (Taken{{addresses[700].address, kNeighbour}})) << "it is known first";
  EXPECT_FALSE(link.listening);
}

TEST_F(AddressProbeTest, two_who_ask_for_one_address_both_hear_the_answer) {
  link.owners[kWanted] = {kWanted.address, kNeighbour};
  std::vector<Result<Taken>> answers;
  ASSERT_TRUE(world.run(ask_all(probe, {kWanted, kWanted}, answers)));
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_TRUE(answers[0]->has_value());
  EXPECT_EQ(answers[0], answers[1]);
}

TEST_F(AddressProbeTest, where_there_are_no_neighbours_an_address_is_free_at_once) {
  link.refusal = Outcome::unsupported;
  EXPECT_EQ(world.run(probe.ask(kWanted)), Taken{});
  EXPECT_EQ(world.elapsed(), 0ms);
}

TEST_F(AddressProbeTest, a_window_of_zero_asks_nobody) {
  AddressProbe none(link, {.window = 0ms});
  EXPECT_EQ(world.run(none.ask(kWanted)), Taken{});
  EXPECT_TRUE(link.asked.empty());
}

TEST_F(AddressProbeTest, one_question_that_went_out_is_enough) {
  Scope scope(world.loop);
  std::vector<Result<Taken>> answers;
  link.refusal = Outcome::busy;
  scope.spawn(ask_one, std::ref(probe), kWanted, std::ref(answers));
  world.advance(150ms);
  link.refusal = Outcome::ok;
  world.advance(150ms);
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0], Taken{});
}

TEST_F(AddressProbeTest, without_any_question_nothing_is_known) {
  link.refusal = Outcome::busy;
  EXPECT_EQ(world.run(probe.ask(kWanted)).outcome(), Outcome::busy);
  link.refusal = Outcome::absent;
  EXPECT_EQ(world.run(probe.ask(kWanted)).outcome(), Outcome::absent);
  EXPECT_EQ(world.elapsed(), 300ms) << "only what may pass is waited for";
}

TEST_F(AddressProbeTest, leaves_nothing_behind_when_it_is_cancelled) {
  Scope scope(world.loop);
  std::vector<Result<Taken>> answers;
  scope.spawn(ask_one, std::ref(probe), kWanted, std::ref(answers));
  world.advance(150ms);
  EXPECT_TRUE(link.listening);
  scope.cancel();
  world.settle();
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].outcome(), Outcome::cancelled);
  EXPECT_FALSE(link.listening);
}

}  // namespace
}  // namespace isthmus::infra::drivers
