#include "isthmus/base/work_queue.h"

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "isthmus/base/virtual_world.h"

namespace isthmus {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

Task<Result<>> get_into(WorkQueue& queue, std::vector<std::string>& got) {
  Result<std::string> key = co_await queue.get();
  got.push_back(key ? *key : std::string(to_string(key.outcome())));
  co_return Result<>{};
}

class WorkQueueTest : public testing::Test {
 protected:
  // One key for a caller that does not wait: "" when none is to be had now.
  std::string get() {
    std::vector<std::string> got;
    Scope scope(world.loop);
    scope.spawn(get_into, std::ref(queue), std::ref(got));
    world.settle();
    return got.empty() ? "" : got.front();
  }
  std::vector<std::string> get_all() {
    std::vector<std::string> all;
    for (std::string key = get(); !key.empty() && key != "cancelled"; key = get()) {
      all.push_back(key);
    }
    return all;
  }
  Duration advance_until_depth(std::size_t depth) {
    const Moment start = world.loop.now();
    world.loop.run_until([this, depth] { return queue.depth() == depth; });
    return world.loop.now() - start;
  }

  VirtualWorld world;
  SeededRandom random{1};
  Metrics metrics;
  WorkQueue queue{world.loop, random, metrics, {.name = "Nodes", .keys_max = 100}};
  Scope workers{world.loop};
};

using Keys = std::vector<std::string>;

TEST_F(WorkQueueTest, hands_out_keys_in_the_order_they_came) {
  for (const char* key : {"b", "a", "c"}) queue.add(key);
  EXPECT_EQ(get_all(), (Keys{"b", "a", "c"}));
}

TEST_F(WorkQueueTest, a_key_that_waits_is_not_added_twice) {
  queue.add("a");
  queue.add("b");
  queue.add("a");
  EXPECT_EQ(queue.depth(), 2U);
  EXPECT_EQ(get_all(), (Keys{"a", "b"}));
}

TEST_F(WorkQueueTest, a_key_being_worked_on_comes_back_only_after_done) {
  queue.add("a");
  EXPECT_EQ(get(), "a");
  queue.add("a");
  queue.add("a");
  EXPECT_EQ(get(), "");
  queue.done("a");
  EXPECT_EQ(get(), "a");
  queue.done("a");
  EXPECT_EQ(get(), "");
}

TEST_F(WorkQueueTest, waiting_workers_are_served_in_the_order_they_came) {
  Keys first, second;
  workers.spawn(get_into, std::ref(queue), std::ref(first));
  world.settle();
  workers.spawn(get_into, std::ref(queue), std::ref(second));
  world.settle();
  queue.add("a");
  queue.add("b");
  world.settle();
  EXPECT_EQ(first, Keys{"a"});
  EXPECT_EQ(second, Keys{"b"});
}

TEST_F(WorkQueueTest, fresh_changes_overtake_resyncs) {
  queue.add("old1", Priority::resync);
  queue.add("old2", Priority::resync);
  queue.add("new1", Priority::fresh);
  EXPECT_EQ(get(), "new1");
  EXPECT_EQ(get_all(), (Keys{"old1", "old2"}));
}

TEST_F(WorkQueueTest, a_fresh_add_lifts_a_waiting_resync) {
  queue.add("a", Priority::resync);
  queue.add("b", Priority::resync);
  queue.add("c", Priority::fresh);
  queue.add("b", Priority::fresh);
  queue.add("c", Priority::resync);
  EXPECT_EQ(queue.depth(), 3U);
  EXPECT_EQ(get_all(), (Keys{"c", "b", "a"}));
}

TEST_F(WorkQueueTest, a_fresh_add_during_the_work_counts_when_the_key_waits_again) {
  queue.add("a", Priority::resync);
  EXPECT_EQ(get(), "a");
  queue.add("a", Priority::resync);
  queue.add("a", Priority::fresh);
  queue.add("b", Priority::resync);
  queue.done("a");
  EXPECT_EQ(get_all(), (Keys{"a", "b"}));
}

TEST_F(WorkQueueTest, a_storm_of_fresh_changes_cannot_starve_a_resync) {
  queue.add("patient", Priority::resync);
  queue.add("more patient", Priority::resync);
  for (unsigned i = 0; i < 2 * WorkQueue::kFreshInARowMax; ++i) {
    queue.add("fresh" + std::to_string(i));
  }
  const Keys order = get_all();
  EXPECT_EQ(order.at(WorkQueue::kFreshInARowMax), "patient");
  EXPECT_EQ(order.at(2 * WorkQueue::kFreshInARowMax + 1), "more patient");
}

TEST_F(WorkQueueTest, a_delayed_add_waits_for_its_time) {
  queue.add_after("a", 10s);
  EXPECT_EQ(get(), "");
  world.advance(10s - 1ns);
  EXPECT_EQ(get(), "");
  world.advance(1ns);
  EXPECT_EQ(get(), "a");
}

TEST_F(WorkQueueTest, a_delay_of_nothing_or_less_is_now) {
  queue.add_after("a", 0s);
  queue.add_after("b", -1s);
  EXPECT_EQ(get_all(), (Keys{"a", "b"}));
}

TEST_F(WorkQueueTest, of_several_delays_the_earliest_wins) {
  queue.add_after("a", 10s);
  queue.add_after("a", 5s);
  queue.add_after("a", 20s);
  EXPECT_EQ(advance_until_depth(1), 5s);
  EXPECT_EQ(get(), "a");
  queue.done("a");
  world.advance(1h);
  EXPECT_EQ(get(), "") << "the other delays are gone";
}

TEST_F(WorkQueueTest, delays_of_one_key_keep_the_highest_priority) {
  queue.add_after("a", 5s, Priority::resync);
  queue.add_after("a", 9s, Priority::fresh);
  queue.add_after("b", 4s, Priority::resync);
  world.advance(5s);
  EXPECT_EQ(get_all(), (Keys{"a", "b"}));
}

TEST_F(WorkQueueTest, an_add_does_not_cancel_a_pending_delay) {
  queue.add_after("a", 5s);
  queue.add("a");
  EXPECT_EQ(get(), "a");
  queue.done("a");
  world.advance(5s);
  EXPECT_EQ(get(), "a");
}

TEST_F(WorkQueueTest, a_delay_that_ends_during_the_work_brings_the_key_back_after_it) {
  queue.add("a");
  EXPECT_EQ(get(), "a");
  queue.add_after("a", 5s);
  world.advance(5s);
  EXPECT_EQ(get(), "");
  queue.done("a");
  EXPECT_EQ(get(), "a");
}

TEST_F(WorkQueueTest, a_failing_key_backs_off_from_a_second_to_two_minutes) {
  Duration expected = 1s;
  for (int failures = 0; failures < 12; ++failures) {
    EXPECT_EQ(queue.failures("a"), static_cast<unsigned>(failures));
    const Duration delay = queue.add_rate_limited("a");
    EXPECT_GE(delay, expected / 2);
    EXPECT_LE(delay, expected);
    EXPECT_EQ(advance_until_depth(1), delay);
    EXPECT_EQ(get(), "a");
    queue.done("a");
    expected = std::min<Duration>(2 * expected, 2min);
  }
  queue.forget("a");
  EXPECT_EQ(queue.failures("a"), 0U);
  EXPECT_LE(queue.add_rate_limited("a"), 1s);
}

TEST_F(WorkQueueTest, each_key_has_a_backoff_of_its_own) {
  for (int i = 0; i < 5; ++i) queue.add_rate_limited("a");
  EXPECT_LE(queue.add_rate_limited("b"), 1s);
}

TEST_F(WorkQueueTest, a_retry_keeps_the_priority_the_key_was_handed_out_with) {
  queue.add("old", Priority::resync);
  EXPECT_EQ(get(), "old");
  queue.add("new", Priority::fresh);
  EXPECT_EQ(get(), "new");
  queue.add_rate_limited("old");
  queue.add_rate_limited("new");
  queue.done("old");
  queue.done("new");
  world.advance(2s);
  EXPECT_EQ(get_all(), (Keys{"new", "old"}));
}

TEST_F(WorkQueueTest, a_worker_destroyed_before_it_learnt_of_its_key_never_had_it) {
  queue.add("behind", Priority::resync);
  EXPECT_EQ(get(), "behind");
  {
    Scope doomed(world.loop);
    Keys got;
    doomed.spawn(get_into, std::ref(queue), std::ref(got));
    world.settle();
    queue.add("a", Priority::resync);
    queue.add("b", Priority::resync);
    EXPECT_EQ(queue.held(), 2U);
  }
  EXPECT_EQ(queue.held(), 1U);
  EXPECT_EQ(queue.depth(), 2U);
  EXPECT_EQ(get_all(), (Keys{"a", "b"})) << "and the key is in front again";
}

TEST_F(WorkQueueTest, a_key_given_back_goes_to_the_next_waiting_worker) {
  Keys got;
  auto doomed = std::make_unique<Scope>(world.loop);
  doomed->spawn(get_into, std::ref(queue), std::ref(got));
  world.settle();
  workers.spawn(get_into, std::ref(queue), std::ref(got));
  world.settle();
  queue.add("a");
  doomed.reset();
  world.settle();
  EXPECT_EQ(got, Keys{"a"});
}

TEST_F(WorkQueueTest, a_cancelled_worker_takes_no_key) {
  Keys got;
  workers.spawn(get_into, std::ref(queue), std::ref(got));
  world.settle();
  workers.cancel();
  queue.add("a");
  world.settle();
  EXPECT_EQ(got, Keys{"cancelled"});
  EXPECT_EQ(get(), "a");
}

TEST_F(WorkQueueTest, after_shut_down_adds_are_ignored_and_what_waits_is_still_handed_out) {
  queue.add("a");
  queue.add_after("later", 1s);
  queue.shut_down();
  queue.add("b");
  queue.add_after("c", 0s);
  queue.add_rate_limited("d");
  EXPECT_EQ(get(), "a");
  queue.done("a");
  EXPECT_EQ(get(), "cancelled");
  world.advance(1h);
  EXPECT_EQ(queue.depth(), 0U);
}

TEST_F(WorkQueueTest, shutting_down_ends_workers_only_when_nothing_can_come_back) {
  queue.add("a");
  EXPECT_EQ(get(), "a");
  queue.add("a");
  Keys got;
  workers.spawn(get_into, std::ref(queue), std::ref(got));
  workers.spawn(get_into, std::ref(queue), std::ref(got));
  queue.shut_down();
  world.settle();
  EXPECT_EQ(got, Keys{});
  queue.done("a");
  world.settle();
  EXPECT_EQ(got, Keys{"a"});
  queue.done("a");
  world.settle();
  EXPECT_EQ(got, (Keys{"a", "cancelled"}));
}

TEST_F(WorkQueueTest, new_keys_beyond_the_limit_are_dropped_and_counted) {
  for (int i = 0; i < 105; ++i) queue.add(std::to_string(i));
  queue.add("7");
  EXPECT_EQ(queue.depth(), 100U);
  EXPECT_THAT(metrics.text(), HasSubstr("isthmus_workqueue_dropped_total{name=\"Nodes\"} 5\n"));
  for (const std::string& key : get_all()) queue.done(key);
  queue.add("new");
  EXPECT_EQ(get(), "new") << "finished keys make room";
}

TEST_F(WorkQueueTest, counts_what_upstream_counts) {
  queue.add("a");
  queue.add("a");
  queue.add("b");
  queue.add_after("b", 1min);
  world.advance(2s);
  EXPECT_EQ(get(), "a");
  world.advance(3s);
  queue.add_rate_limited("a");
  const std::string during = metrics.text();
  EXPECT_THAT(during, HasSubstr("workqueue_depth{name=\"Nodes\"} 1\n"));
  EXPECT_THAT(during, HasSubstr("workqueue_adds_total{name=\"Nodes\"} 2\n"));
  EXPECT_THAT(during, HasSubstr("workqueue_retries_total{name=\"Nodes\"} 2\n"));
  EXPECT_THAT(during, HasSubstr("workqueue_queue_duration_seconds_sum{name=\"Nodes\"} 2\n"));
  EXPECT_THAT(during, HasSubstr("workqueue_unfinished_work_seconds{name=\"Nodes\"} 3\n"));
  EXPECT_THAT(during, HasSubstr("workqueue_longest_running_processor_seconds{name=\"Nodes\"} 3\n"));
  queue.done("a");
  const std::string after = metrics.text();
  EXPECT_THAT(after, HasSubstr("workqueue_work_duration_seconds_sum{name=\"Nodes\"} 3\n"));
  EXPECT_THAT(after, HasSubstr("workqueue_work_duration_seconds_count{name=\"Nodes\"} 1\n"));
  EXPECT_THAT(after, HasSubstr("workqueue_unfinished_work_seconds{name=\"Nodes\"} 0\n"));
}

using WorkQueueDeathTest = WorkQueueTest;

TEST_F(WorkQueueDeathTest, done_with_a_key_that_nobody_holds_is_a_bug) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  queue.add("a");
  EXPECT_DEATH(queue.done("a"), "done with a key that nobody holds");
}

}  // namespace
}  // namespace isthmus
