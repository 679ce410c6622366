#include "isthmus/base/fan_out.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "isthmus/base/virtual_world.h"

namespace isthmus {
namespace {

using namespace std::chrono_literals;

struct Gauge {
  int now = 0;
  int most = 0;
};

// Takes as many seconds as the item says; negative ones fail at once.
Task<Result<int>> work(int item, Gauge& gauge) {
  gauge.most = std::max(gauge.most, ++gauge.now);
  Result<> slept = co_await sleep_for(std::chrono::seconds(std::max(item, 0)));
  --gauge.now;
  CO_TRY(std::move(slept));
  if (item < 0) co_return fail(Outcome::denied, "a negative item");
  co_return item * 10;
}

std::vector<std::string> words(const std::vector<Result<int>>& answers) {
  std::vector<std::string> out;
  for (const Result<int>& answer : answers) {
    out.push_back(answer ? std::to_string(*answer) : std::string(to_string(answer.outcome())));
  }
  return out;
}

TEST(fan_out, answers_for_each_item_in_its_place) {
  VirtualWorld world;
  Gauge gauge;
  EXPECT_EQ(words(world.run(fan_out(std::vector{3, 1, 2}, 8, work, std::ref(gauge)))),
            (std::vector<std::string>{"30", "10", "20"}));
  EXPECT_EQ(world.elapsed(), 3s);
}

TEST(fan_out, runs_no_more_than_so_many_at_once) {
  VirtualWorld world;
  Gauge gauge;
  world.run(fan_out(std::vector<int>(10, 1), 3, work, std::ref(gauge)));
  EXPECT_EQ(gauge.most, 3);
  EXPECT_EQ(world.elapsed(), 4s);
}

TEST(fan_out, one_failure_leaves_the_others_alone) {
  VirtualWorld world;
  Gauge gauge;
  EXPECT_EQ(words(world.run(fan_out(std::vector{1, -1, 2, 1}, 2, work, std::ref(gauge)))),
            (std::vector<std::string>{"10", "denied", "20", "10"}));
}

TEST(fan_out, of_nothing_is_nothing) {
  VirtualWorld world;
  Gauge gauge;
  EXPECT_TRUE(world.run(fan_out(std::vector<int>{}, 2, work, std::ref(gauge))).empty());
}

Task<Result<std::vector<std::string>>> fan_out_words(std::vector<int> items, Gauge& gauge) {
  const std::vector<Result<int>> answers =
      co_await fan_out(std::move(items), 2, work, std::ref(gauge));
  co_return words(answers);
}

TEST(fan_out, when_time_runs_out_every_item_still_has_an_answer) {
  VirtualWorld world;
  Gauge gauge;
  EXPECT_EQ(world.run(with_timeout(2s, fan_out_words({1, 5, 5, 5, 5}, gauge))),
            (std::vector<std::string>{"10", "deadline", "deadline", "deadline", "deadline"}));
  EXPECT_EQ(world.elapsed(), 2s);
  EXPECT_EQ(gauge.now, 0);
}

Task<Result<>> spend(std::unique_ptr<int> item, int& sum) {
  CO_TRY(co_await yield());
  sum += *item;
  co_return Result<>{};
}

TEST(fan_out, moves_items_that_cannot_be_copied) {
  VirtualWorld world;
  int sum = 0;
  std::vector<std::unique_ptr<int>> items;
  for (int i = 1; i <= 4; ++i) items.push_back(std::make_unique<int>(i));
  const std::vector<Result<>> answers =
      world.run(fan_out(std::move(items), 2, spend, std::ref(sum)));
  EXPECT_TRUE(std::ranges::all_of(answers, [](const Result<>& r) { return r.has_value(); }));
  EXPECT_EQ(sum, 10);
}

TEST(fan_out, a_crash_in_the_middle_leaves_nothing_behind) {
  VirtualWorld world;
  Gauge gauge;
  const std::size_t frames = detail::live_frames;
  {
    Scope scope(world.loop);
    scope.spawn(
        [](Gauge& seen) -> Task<Result<>> {
          const std::vector<Result<int>> answers =
              co_await fan_out(std::vector<int>(9, 9), 4, work, std::ref(seen));
          EXPECT_TRUE(answers.empty()) << "never reached";
          co_return Result<>{};
        },
        std::ref(gauge));
    world.advance(10s);
    EXPECT_GT(detail::live_frames, frames);
  }
  EXPECT_EQ(detail::live_frames, frames);
}

}  // namespace
}  // namespace isthmus
