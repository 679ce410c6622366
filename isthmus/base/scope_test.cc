#include "isthmus/base/scope.h"

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "isthmus/base/signal.h"
#include "isthmus/base/virtual_world.h"

namespace isthmus {
namespace {

using namespace std::chrono_literals;

using Log = std::vector<std::string>;

// Sleeps, then logs how that went; answers the same.
Task<Result<>> nap(Log& log, std::string name, Duration duration) {
  Result<> slept = co_await sleep_for(duration);
  log.push_back(name + " " + std::string(to_string(slept.outcome())));
  co_return slept;
}

Task<Result<>> fail_after(Duration duration, Outcome outcome) {
  CO_TRY(co_await sleep_for(duration));
  co_return fail(outcome, "as told");
}

Task<Result<>> two_naps(Log& log) {
  Scope& here = co_await current_scope();
  Scope scope(here);
  scope.spawn(nap, std::ref(log), std::string("long"), 2s);
  scope.spawn(nap, std::ref(log), std::string("short"), 1s);
  Result<> joined = co_await scope.join();
  log.push_back("joined");
  co_return joined;
}

TEST(scope, join_waits_for_every_child) {
  VirtualWorld world;
  Log log;
  EXPECT_TRUE(world.run(two_naps(log)));
  EXPECT_EQ(log, (Log{"short ok", "long ok", "joined"}));
  EXPECT_EQ(world.elapsed(), 2s);
}

Task<Result<>> join_nobody() {
  Scope& here = co_await current_scope();
  Scope scope(here);
  Result<> joined = co_await scope.join();
  co_return joined;
}

TEST(scope, joining_a_scope_without_children_does_not_wait) {
  VirtualWorld world;
  EXPECT_TRUE(world.run(join_nobody()));
  EXPECT_EQ(world.elapsed(), 0s);
}

Task<Result<>> nap_beside_a_failure(Log& log) {
  Scope& here = co_await current_scope();
  Scope scope(here);
  scope.spawn(nap, std::ref(log), std::string("sibling"), 1h);
  scope.spawn(fail_after, 1s, Outcome::denied);
  scope.spawn(fail_after, 2s, Outcome::busy);
  Result<> joined = co_await scope.join();
  co_return joined;
}

TEST(scope, the_first_error_cancels_the_siblings_and_is_the_answer) {
  VirtualWorld world;
  Log log;
  EXPECT_EQ(world.run(nap_beside_a_failure(log)).outcome(), Outcome::denied);
  EXPECT_EQ(log, (Log{"sibling cancelled"}));
  EXPECT_EQ(world.elapsed(), 1s);
}

Task<Result<>> stubborn(int& waits, int waits_max) {
  while (waits < waits_max) {
    ++waits;
    Result<> ignored = co_await sleep_for(1s);
    if (ignored) continue;
    EXPECT_EQ(ignored.outcome(), Outcome::cancelled);
  }
  co_return Result<>{};
}

TEST(scope, cancelling_makes_every_later_wait_fail_too) {
  VirtualWorld world;
  int waits = 0;
  Scope scope(world.loop);
  scope.spawn(stubborn, std::ref(waits), 1000);
  world.loop.run_until([&waits] { return waits == 3; });
  scope.cancel();
  world.loop.run_until([&scope] { return scope.children() == 0; });
  EXPECT_EQ(waits, 1000);
  EXPECT_EQ(world.elapsed(), 2s);
}

TEST(scope, only_the_first_reason_counts) {
  VirtualWorld world;
  Scope scope(world.loop);
  scope.cancel(Outcome::deadline);
  scope.cancel(Outcome::cancelled);
  EXPECT_EQ(scope.reason(), Outcome::deadline);
}

TEST(scope, a_child_spawned_into_a_cancelled_scope_fails_at_its_first_wait) {
  VirtualWorld world;
  Log log;
  Scope scope(world.loop);
  scope.cancel();
  scope.spawn(nap, std::ref(log), std::string("late"), 1s);
  world.loop.run_until([&scope] { return scope.children() == 0; });
  EXPECT_EQ(log, (Log{"late cancelled"}));
  EXPECT_EQ(world.elapsed(), 0s);
}

Task<Result<>> nap_inside(Log& log) {
  Scope& here = co_await current_scope();
  Scope middle(here);
  Scope inner(middle);
  inner.spawn(nap, std::ref(log), std::string("inner"), 1h);
  middle.spawn(nap, std::ref(log), std::string("middle"), 1h);
  Result<> inner_joined = co_await inner.join();
  Result<> middle_joined = co_await middle.join();
  EXPECT_EQ(inner_joined.outcome(), middle_joined.outcome());
  Scope born_late(here);
  log.push_back("born late " + std::string(to_string(born_late.reason())));
  co_return middle_joined;
}

TEST(scope, cancelling_reaches_scopes_within_scopes) {
  VirtualWorld world;
  Log log;
  Scope root(world.loop);
  root.spawn(nap_inside, std::ref(log));
  world.settle();
  root.cancel();
  world.loop.run_until([&root] { return root.children() == 0; });
  EXPECT_EQ(log, (Log{"middle cancelled", "inner cancelled", "born late cancelled"}));
  EXPECT_EQ(world.elapsed(), 0s);
}

Task<Result<>> cancel_the_inner_one(Log& log) {
  Scope& here = co_await current_scope();
  Scope inner(here);
  inner.spawn(nap, std::ref(log), std::string("inner"), 1h);
  CO_TRY(co_await sleep_for(1s));
  inner.cancel();
  Result<> joined = co_await inner.join();
  EXPECT_EQ(joined.outcome(), Outcome::cancelled);
  co_return co_await nap(log, "outer", 1s);
}

TEST(scope, cancelling_an_inner_scope_leaves_the_outer_one_alone) {
  VirtualWorld world;
  Log log;
  EXPECT_TRUE(world.run(cancel_the_inner_one(log)));
  EXPECT_EQ(log, (Log{"inner cancelled", "outer ok"}));
}

TEST(scope, the_earliest_of_several_deadlines_counts) {
  VirtualWorld world;
  Log log;
  Scope scope(world.loop);
  scope.set_deadline(Moment(5s));
  scope.set_deadline(Moment(2s));
  scope.set_deadline(Moment(9s));
  scope.spawn(nap, std::ref(log), std::string("child"), 1h);
  world.loop.run_until([&scope] { return scope.children() == 0; });
  EXPECT_EQ(log, (Log{"child deadline"}));
  EXPECT_EQ(world.elapsed(), 2s);
}

TEST(scope, destroying_it_destroys_children_where_they_stand) {
  VirtualWorld world;
  const std::size_t frames = detail::live_frames;
  Log log;
  auto held = std::make_shared<int>(1);
  {
    Scope scope(world.loop);
    scope.spawn(nap_inside, std::ref(log));
    scope.spawn([](std::shared_ptr<int>) -> Task<Result<>> { co_return co_await sleep_for(1h); },
                held);
    scope.spawn(two_naps, std::ref(log));
    world.settle();
    EXPECT_GT(detail::live_frames, frames);
    EXPECT_EQ(held.use_count(), 2);
  }
  EXPECT_EQ(detail::live_frames, frames);
  EXPECT_EQ(held.use_count(), 1);
  EXPECT_FALSE(world.loop.run_until([] { return false; })) << "a timer was left behind";
  EXPECT_TRUE(log.empty());
}

TEST(scope, a_child_destroyed_before_its_first_turn_never_ran) {
  VirtualWorld world;
  Log log;
  {
    Scope scope(world.loop);
    scope.spawn(nap, std::ref(log), std::string("child"), 0s);
    EXPECT_EQ(scope.children(), 1U);
  }
  EXPECT_FALSE(world.loop.run_until([] { return false; }));
  EXPECT_TRUE(log.empty());
}

// Ends and, in the same turn, a stranger gives the scope another child.
Task<Result<>> spawn_elsewhere(Scope& scope, Log& log) {
  CO_TRY(co_await sleep_until(Moment(1s)));
  scope.spawn(nap, std::ref(log), std::string("second"), 1s);
  co_return Result<>{};
}
Task<Result<>> join_and_log(Scope& scope, Log& log) {
  Result<> joined = co_await scope.join();
  log.push_back("joined");
  co_return joined;
}

TEST(scope, join_also_waits_for_a_child_that_came_after_the_last_one_went) {
  VirtualWorld world;
  Log log;
  Scope outer(world.loop);
  Scope scope(world.loop);
  scope.spawn(nap, std::ref(log), std::string("first"), 1s);
  outer.spawn(join_and_log, std::ref(scope), std::ref(log));
  outer.spawn(spawn_elsewhere, std::ref(scope), std::ref(log));
  world.loop.run_until([&outer] { return outer.children() == 0; });
  EXPECT_EQ(log, (Log{"first ok", "second ok", "joined"}));
}

Task<Result<>> finish_work(Uncancellable anyway, Log& log) {
  Result<> worked = co_await anyway.run(nap(log, "work", 5s));
  log.push_back("work over");
  CO_TRY(std::move(worked));
  co_return co_await nap(log, "more", 1s);
}

TEST(scope, uncancellable_work_finishes_after_its_caller_was_cancelled) {
  VirtualWorld world;
  Log log;
  Scope outliving(world.loop);
  Scope scope(world.loop);
  scope.spawn(finish_work, Uncancellable(outliving), std::ref(log));
  scope.set_deadline(Moment(1s));
  world.loop.run_until([&scope] { return scope.children() == 0; });
  EXPECT_EQ(log, (Log{"work ok", "work over", "more deadline"}));
  EXPECT_EQ(world.elapsed(), 5s);
}

TEST(scope, uncancellable_work_still_ends_with_the_scope_it_runs_in) {
  VirtualWorld world;
  Log log;
  Scope outliving(world.loop);
  outliving.set_deadline(Moment(3s));
  Scope scope(world.loop);
  scope.spawn(finish_work, Uncancellable(outliving), std::ref(log));
  world.loop.run_until([&scope] { return scope.children() == 0; });
  EXPECT_EQ(log, (Log{"work deadline", "work over"}));
  EXPECT_EQ(world.elapsed(), 3s);
}

struct Door {
  Task<Result<>> knock(int times) {
    for (; times > 0; --times) {
      CO_TRY(co_await sleep_for(1s));
      ++knocks;
    }
    co_return Result<>{};
  }
  int knocks = 0;
};

TEST(scope, spawns_member_functions_and_owns_what_is_moved_in) {
  VirtualWorld world;
  Door door;
  Scope scope(world.loop);
  scope.spawn(&Door::knock, &door, 3);
  std::string seen;
  scope.spawn(
      [](std::unique_ptr<std::string> text, std::string& out) -> Task<Result<>> {
        CO_TRY(co_await sleep_for(1s));
        out = *text;
        co_return Result<>{};
      },
      std::make_unique<std::string>("owned"), std::ref(seen));
  world.loop.run_until([&scope] { return scope.children() == 0; });
  EXPECT_EQ(door.knocks, 3);
  EXPECT_EQ(seen, "owned");
}

}  // namespace
}  // namespace isthmus
