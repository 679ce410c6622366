#include "isthmus/infra/drivers/announcement_schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include <fmt/format.h>

#include "isthmus/base/virtual_world.h"

namespace isthmus::infra::drivers {
namespace {

using namespace std::chrono_literals;

IpAddress ip(std::string_view text) { return parse_ip(text).value(); }

const BoundAddress kAddress{ip("192.0.2.1"), "lan"};

class FakeAnnouncer final : public Announcer {
 public:
  explicit FakeAnnouncer(Loop& loop) : loop_(loop) {}

  Result<> announce(const IpAddress& address, const std::string& interface) override {
    times[{address, interface}].push_back(loop_.now() - Moment{});
    if (refusal != Outcome::ok) return fail(refusal, "refused");
    return {};
  }

  std::map<BoundAddress, std::vector<Duration>> times;
  Outcome refusal = Outcome::ok;

 private:
  Loop& loop_;
};

class AnnouncementScheduleTest : public ::testing::Test {
 protected:
  void SetUp() override { scope.spawn(&AnnouncementSchedule::run, &schedule); }

  double counted(const char* result) {
    return metrics
        .counter("isthmus_announcements_total",
                 "Announcements of addresses on the link, by result.", {{"result", result}})
        .value();
  }

  VirtualWorld world;
  SeededRandom random{7};
  Metrics metrics;
  MemoryLogger log;
  FakeAnnouncer announcer{world.loop};
  AnnouncementSchedule schedule{announcer, world.loop, random, metrics, log};
  Scope scope{world.loop};
};

TEST_F(AnnouncementScheduleTest, at_once_after_a_second_and_then_every_ten) {
  world.advance(5s);
  EXPECT_TRUE(schedule.hold(kAddress));
  const std::vector<Duration>& times = announcer.times[kAddress];
  ASSERT_EQ(times, std::vector<Duration>{5s}) << "before hold() returns";
  world.advance(60s);
  ASSERT_GE(times.size(), 7u);
  EXPECT_EQ(times[1], 6s);
  EXPECT_GE(times[2] - times[1], 1s);
  EXPECT_LE(times[2] - times[1], 10s);
  for (std::size_t i = 3; i < times.size(); ++i) EXPECT_EQ(times[i] - times[i - 1], 10s);
  EXPECT_EQ(counted("sent"), times.size());
}

TEST_F(AnnouncementScheduleTest, what_is_released_is_never_announced_again) {
  ASSERT_TRUE(schedule.hold(kAddress));
  world.advance(500ms);
  schedule.release(kAddress.address);
  schedule.release(kAddress.address);
  EXPECT_EQ(schedule.size(), 0u);
  EXPECT_EQ(schedule.told(kAddress.address).outcome(), Outcome::absent);
  world.advance(60s);
  EXPECT_EQ(announcer.times[kAddress].size(), 1u);
}

TEST_F(AnnouncementScheduleTest, holding_twice_changes_nothing) {
  ASSERT_TRUE(schedule.hold(kAddress));
  world.advance(500ms);
  ASSERT_TRUE(schedule.hold(kAddress));
  world.advance(500ms);
  EXPECT_EQ(announcer.times[kAddress], (std::vector<Duration>{0s, 1s}));
}

TEST_F(AnnouncementScheduleTest, on_another_interface_it_is_told_there_and_only_there) {
  ASSERT_TRUE(schedule.hold(kAddress));
  world.advance(500ms);
  BoundAddress moved{kAddress.address, "wan"};
  ASSERT_TRUE(schedule.hold(moved));
  world.advance(60s);
  EXPECT_EQ(announcer.times[kAddress].size(), 1u);
  EXPECT_GE(announcer.times[moved].size(), 7u);
}

TEST_F(AnnouncementScheduleTest, a_failure_is_told_counted_and_repaired_within_a_second) {
  announcer.refusal = Outcome::busy;
  EXPECT_EQ(schedule.hold(kAddress).outcome(), Outcome::busy);
  world.advance(3500ms);
  EXPECT_EQ(schedule.hold(kAddress).outcome(), Outcome::busy);
  EXPECT_EQ(counted("failed"), 4);
  announcer.refusal = Outcome::ok;
  world.advance(1500ms);
  EXPECT_TRUE(schedule.told(kAddress.address));
  EXPECT_EQ(announcer.times[kAddress], (std::vector<Duration>{0s, 1s, 2s, 3s, 4s, 5s}))
      << "the first that works is followed by another";
  world.advance(9s);
  EXPECT_EQ(announcer.times[kAddress].size(), 7u);
}

TEST_F(AnnouncementScheduleTest, a_dead_link_is_logged_once_and_so_is_its_return) {
  announcer.refusal = Outcome::busy;
  for (int i = 1; i <= 100; ++i) {
    (void)schedule.hold({ip(fmt::format("192.0.2.{}", i)), "lan"});
  }
  world.advance(10s);
  ASSERT_EQ(log.lines.size(), 1u);
  EXPECT_TRUE(log.mentions("cannot announce"));
  announcer.refusal = Outcome::ok;
  world.advance(60s);
  EXPECT_EQ(log.lines.size(), 2u);
  EXPECT_TRUE(log.mentions("announcing again"));
}

TEST_F(AnnouncementScheduleTest, where_nobody_is_to_be_told_nothing_is_wrong) {
  announcer.refusal = Outcome::unsupported;
  EXPECT_TRUE(schedule.hold({kAddress.address, "lo"}));
  world.advance(60s);
  EXPECT_EQ(counted("failed"), 0);
  EXPECT_TRUE(log.lines.empty());
}

TEST_F(AnnouncementScheduleTest, two_thousand_are_spread_and_none_waits_longer_than_ten_seconds) {
  std::size_t turns_over_limit = 0;
  std::size_t announced_before = 0;
  auto announced = [&] { return static_cast<std::size_t>(counted("sent")); };
  std::vector<BoundAddress> addresses;
  for (int i = 0; i < 2000; ++i) {
    addresses.push_back({ip(fmt::format("10.1.{}.{}", i / 250, i % 250 + 1)), "lan"});
    ASSERT_TRUE(schedule.hold(addresses.back()));
  }
  announced_before = announced();
  world.loop.observe_turns([&](Duration) {
    if (announced() - announced_before > AnnouncementSchedule::kPerTurnMax) ++turns_over_limit;
    announced_before = announced();
  });
  world.advance(120s);
  EXPECT_EQ(turns_over_limit, 0u);

  std::vector<int> per_second(120);
  for (const BoundAddress& one : addresses) {
    const std::vector<Duration>& times = announcer.times[one];
    ASSERT_GE(times.size(), 12u);
    for (std::size_t i = 1; i < times.size(); ++i) {
      ASSERT_LE(times[i] - times[i - 1], 10s);
      if (times[i] < 120s) ++per_second[static_cast<std::size_t>(times[i] / 1s)];
    }
  }
  // Evenly would be 200 a second; of those that are spread over nine of ten seconds 222.
  EXPECT_LT(*std::max_element(per_second.begin() + 20, per_second.end()), 300);
}

}  // namespace
}  // namespace isthmus::infra::drivers
