#include "isthmus/app/lifecycle.h"

#include <gtest/gtest.h>

#include <csignal>

#include "isthmus/base/scope.h"

namespace isthmus::app {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

// Real signals, raised by the work itself at a point it chooses; no test waits for a clock longer
// than its own short grace.
class LifecycleTest : public testing::Test {
 public:
  Result<> run(Task<Result<>> (*work)(Wishes&, LifecycleTest&), Duration grace = hours(1)) {
    return run_until_stopped(world, log, grace,
                             [this, work](Wishes& wishes) { return work(wishes, *this); });
  }

  net::PosixWorld world;
  MemoryLogger log;
  int reloads = 0;
};

TEST_F(LifecycleTest, answers_what_the_work_answers) {
  EXPECT_TRUE(run([](Wishes&, LifecycleTest&) -> Task<Result<>> { co_return Result<>{}; }));
  EXPECT_EQ(run([](Wishes&, LifecycleTest&) -> Task<Result<>> {
              co_return fail(Outcome::lost, "the lease");
            }).outcome(),
            Outcome::lost);
}

TEST_F(LifecycleTest, sigterm_and_sigint_ask_the_work_to_finish) {
  EXPECT_TRUE(run([](Wishes& wishes, LifecycleTest&) -> Task<Result<>> {
    std::raise(SIGTERM);
    co_return co_await wishes.stopping.wait();
  }));
  EXPECT_TRUE(log.mentions("SIGTERM"));
  EXPECT_TRUE(run([](Wishes& wishes, LifecycleTest&) -> Task<Result<>> {
    std::raise(SIGINT);
    co_return co_await wishes.stopping.wait();
  }));
  EXPECT_TRUE(log.mentions("SIGINT"));
}

TEST_F(LifecycleTest, sighup_reloads_and_does_not_stop) {
  EXPECT_TRUE(run([](Wishes& wishes, LifecycleTest& test) -> Task<Result<>> {
    Signal reloaded;
    wishes.reload = [&] {
      ++test.reloads;
      reloaded.set();
    };
    std::raise(SIGHUP);
    CO_TRY(co_await reloaded.wait());
    wishes.reload = {};
    co_return Result<>{};
  }));
  EXPECT_EQ(reloads, 1);
}

TEST_F(LifecycleTest, work_that_goes_on_is_cut_off_when_the_grace_is_over) {
  const Result<> ended = run(
      [](Wishes&, LifecycleTest&) -> Task<Result<>> {
        std::raise(SIGTERM);
        co_return co_await Sleep(hours(1));
      },
      milliseconds(20));
  EXPECT_EQ(ended.outcome(), Outcome::deadline);
}

TEST_F(LifecycleTest, work_that_ignores_even_that_is_destroyed) {
  const Result<> ended = run(
      [](Wishes&, LifecycleTest& test) -> Task<Result<>> {
        std::raise(SIGTERM);
        Scope deaf(test.world.loop());  // No child of the scope that is cut off.
        co_return co_await deaf.run(with_timeout(
            hours(1), []() -> Task<Result<>> { co_return co_await Sleep(hours(1)); }()));
      },
      milliseconds(20));
  EXPECT_EQ(ended.outcome(), Outcome::deadline);
}

TEST_F(LifecycleTest, a_second_signal_ends_it_at_once) {
  const Result<> ended = run([](Wishes& wishes, LifecycleTest&) -> Task<Result<>> {
    std::raise(SIGTERM);
    CO_TRY(co_await wishes.stopping.wait());
    std::raise(SIGTERM);
    co_return co_await Sleep(hours(1));
  });
  EXPECT_EQ(ended.outcome(), Outcome::deadline);
  EXPECT_TRUE(log.mentions("second time"));
}

}  // namespace
}  // namespace isthmus::app
