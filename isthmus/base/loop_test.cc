#include "isthmus/base/loop.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "isthmus/base/random.h"
#include "isthmus/base/virtual_world.h"

namespace isthmus {
namespace {

using namespace std::chrono_literals;

// Writes its name and the time into a log when it fires.
struct Bell final : Timer {
  Bell(Loop& loop_, std::vector<std::string>& log_, std::string name_)
      : loop(loop_), log(log_), name(std::move(name_)) {}
  ~Bell() { loop.disarm(*this); }
  void expired() override {
    EXPECT_FALSE(armed());
    log.push_back(name);
    at = loop.now();
    if (again) loop.arm(*this, loop.now() + *again);
  }

  Loop& loop;
  std::vector<std::string>& log;
  std::string name;
  Moment at{};
  std::optional<Duration> again;
};

TEST(loop, timers_fire_in_the_order_of_their_moments) {
  VirtualWorld world;
  std::vector<std::string> log;
  Bell late(world.loop, log, "late"), early(world.loop, log, "early");
  world.loop.arm(late, Moment(2s));
  world.loop.arm(early, Moment(1s));
  world.advance(1min);
  EXPECT_EQ(log, (std::vector<std::string>{"early", "late"}));
  EXPECT_EQ(early.at, Moment(1s));
  EXPECT_EQ(late.at, Moment(2s));
}

TEST(loop, a_tie_goes_to_the_timer_that_was_armed_first) {
  VirtualWorld world;
  std::vector<std::string> log;
  Bell a(world.loop, log, "a"), b(world.loop, log, "b"), c(world.loop, log, "c");
  for (Bell* bell : {&b, &a, &c}) world.loop.arm(*bell, Moment(1s));
  world.advance(2s);
  EXPECT_EQ(log, (std::vector<std::string>{"b", "a", "c"}));
}

TEST(loop, arming_again_moves_a_timer_and_gives_it_a_new_turn) {
  VirtualWorld world;
  std::vector<std::string> log;
  Bell a(world.loop, log, "a"), b(world.loop, log, "b");
  world.loop.arm(a, Moment(1s));
  world.loop.arm(b, Moment(1s));
  world.loop.arm(a, Moment(1s));
  world.advance(2s);
  EXPECT_EQ(log, (std::vector<std::string>{"b", "a"}));
}

TEST(loop, a_disarmed_timer_is_silent) {
  VirtualWorld world;
  std::vector<std::string> log;
  Bell bell(world.loop, log, "bell");
  world.loop.arm(bell, Moment(1s));
  world.loop.disarm(bell);
  world.loop.disarm(bell);
  world.advance(2s);
  EXPECT_TRUE(log.empty());
}

TEST(loop, a_moment_in_the_past_fires_at_once) {
  VirtualWorld world;
  world.advance(1h);
  std::vector<std::string> log;
  Bell bell(world.loop, log, "bell");
  world.loop.arm(bell, Moment(1s));
  world.advance(0s);
  EXPECT_EQ(log.size(), 1U);
  EXPECT_EQ(world.elapsed(), 1h);
}

TEST(loop, a_timer_that_rearms_itself_without_delay_does_not_stop_the_others) {
  VirtualWorld world;
  std::vector<std::string> log;
  Bell busy(world.loop, log, "busy"), other(world.loop, log, "other");
  busy.again = 0s;
  world.loop.arm(busy, Moment(1s));
  world.loop.arm(other, Moment(1s));
  int turns = 0;
  EXPECT_TRUE(world.loop.run_until([&turns] { return ++turns == 10; }));
  EXPECT_THAT(log, testing::Contains("other"));
}

TEST(loop, many_timers_armed_moved_and_disarmed_at_random_fire_in_order) {
  VirtualWorld world;
  SeededRandom random(2026);
  std::vector<std::string> log;
  std::deque<Bell> bells;
  std::vector<std::pair<Moment, std::uint64_t>> expected(300, {Moment::max(), 0});
  for (int i = 0; i < 300; ++i) bells.emplace_back(world.loop, log, std::to_string(i));
  for (std::uint64_t step = 0; step < 3000; ++step) {
    const std::uint64_t which = random.below(bells.size());
    if (random.below(4) == 0) {
      world.loop.disarm(bells[which]);
      expected[which] = {Moment::max(), 0};
    } else {
      const Moment at = Moment(std::chrono::seconds(random.below(50)));
      world.loop.arm(bells[which], at);
      expected[which] = {at, step};
    }
  }
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (expected[i].first != Moment::max()) order.push_back(i);
  }
  std::ranges::sort(order, {}, [&expected](std::size_t i) { return expected[i]; });
  std::vector<std::string> names;
  for (const std::size_t i : order) names.push_back(std::to_string(i));
  world.advance(1h);
  EXPECT_EQ(log, names);
}

TEST(loop, ends_when_nothing_can_happen_any_more) {
  VirtualWorld world;
  EXPECT_FALSE(world.loop.run_until([] { return false; }));
}

Task<Result<>> note_time(std::vector<Moment>& times, Loop& loop) {
  times.push_back(loop.now());
  CO_TRY(co_await yield());
  times.push_back(loop.now());
  co_return Result<>{};
}

// Every look at it is a nanosecond later.
class TickingDriver final : public Driver {
 public:
  Moment now() override { return now_ += 1ns; }
  WallTime wall_now() override { return WallTime(now_.time_since_epoch()); }
  bool wait(std::optional<Moment> until) override { return until.has_value(); }

 private:
  Moment now_{};
};

TEST(loop, time_stands_still_during_a_turn_and_its_cost_is_observed) {
  TickingDriver driver;
  Loop loop(driver);
  std::vector<Duration> turns;
  loop.observe_turns([&turns](Duration took) { turns.push_back(took); });
  std::vector<Moment> times;
  {
    Scope scope(loop);
    for (int i = 0; i < 2; ++i) scope.spawn(note_time, std::ref(times), std::ref(loop));
    loop.run_until([&scope] { return scope.children() == 0; });
  }
  ASSERT_EQ(times.size(), 4U);
  EXPECT_EQ(times[0], times[1]);
  EXPECT_EQ(times[2], times[3]);
  EXPECT_LT(times[0], times[2]);
  EXPECT_EQ(turns, (std::vector<Duration>{1ns, 1ns}));
}

TEST(loop, the_wall_clock_may_jump_and_timers_do_not_notice) {
  VirtualWorld world;
  world.driver.set_wall(WallTime(0s));
  std::vector<std::string> log;
  Bell bell(world.loop, log, "bell");
  world.loop.arm(bell, Moment(10s));
  world.advance(5s);
  EXPECT_EQ(world.loop.wall_now(), WallTime(5s));
  world.driver.set_wall(WallTime(1000h));
  world.advance(5s);
  EXPECT_EQ(bell.at, Moment(10s));
  EXPECT_EQ(world.loop.wall_now(), WallTime(1000h + 5s));
}

}  // namespace
}  // namespace isthmus
