#include "isthmus/cloud/coalesce.h"

#include <gtest/gtest.h>

#include "isthmus/base/virtual_world.h"

namespace isthmus::cloud {
namespace {

using std::chrono::seconds;

// A call that takes a second and answers how many calls there were.
struct Source {
  Task<Result<int>> fetch(int key) {
    const int number = ++calls;
    CO_TRY(co_await sleep_for(seconds(1)));
    if (key < 0) co_return fail(Outcome::lost, "cut");
    co_return number;
  }
  int calls = 0;
};

struct coalescer : testing::Test {
  VirtualWorld world;
  Source source;
  Coalescer<int, int> calls{world.loop, [this](int key) { return source.fetch(key); }};
  std::vector<Result<Dated<int>>> answers;

  static Task<Result<>> ask(coalescer* self, int key, Duration after, Duration age) {
    CO_TRY(co_await sleep_for(after));
    Result<Dated<int>> answer = co_await self->calls.ask(key, self->world.loop.now() - age);
    self->answers.push_back(std::move(answer));
    co_return {};
  }
};

Task<Result<>> join(Scope* scope) { co_return co_await scope->join(); }

TEST_F(coalescer, makes_one_call_for_many_askers) {
  Scope scope(world.loop);
  for (int i = 0; i < 5; ++i) scope.spawn(&coalescer::ask, this, 7, Duration{}, Duration{});
  ASSERT_TRUE(world.run(join(&scope)));
  EXPECT_EQ(source.calls, 1);
  ASSERT_EQ(answers.size(), 5U);
  for (const auto& answer : answers) EXPECT_EQ(answer->value, 1);
  EXPECT_EQ(calls.in_flight(), 0U);
}

TEST_F(coalescer, does_not_answer_with_a_call_sent_too_early) {
  Scope scope(world.loop);
  scope.spawn(&coalescer::ask, this, 7, Duration{}, Duration{});
  scope.spawn(&coalescer::ask, this, 7, Duration(std::chrono::milliseconds(500)), Duration{});
  ASSERT_TRUE(world.run(join(&scope)));
  ASSERT_EQ(answers.size(), 2U);
  EXPECT_EQ(answers[0]->value, 1);
  EXPECT_EQ(answers[1]->value, 2);
}

TEST_F(coalescer, joins_a_call_under_way_that_is_young_enough) {
  Scope scope(world.loop);
  scope.spawn(&coalescer::ask, this, 7, Duration{}, Duration{});
  scope.spawn(&coalescer::ask, this, 7, Duration(std::chrono::milliseconds(500)),
              Duration(seconds(1)));
  ASSERT_TRUE(world.run(join(&scope)));
  EXPECT_EQ(source.calls, 1);
  EXPECT_EQ(world.elapsed(), seconds(1));
}

TEST_F(coalescer, keeps_the_call_for_others_when_one_asker_is_cancelled) {
  Scope leaver(world.loop);
  leaver.set_deadline(world.loop.now() + std::chrono::milliseconds(100));
  Scope scope(world.loop);
  leaver.spawn(&coalescer::ask, this, 7, Duration{}, Duration{});
  scope.spawn(&coalescer::ask, this, 7, Duration{}, Duration{});
  ASSERT_TRUE(world.run(join(&leaver)));
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_EQ(answers[0].outcome(), Outcome::deadline);
  ASSERT_TRUE(world.run(join(&scope)));
  ASSERT_EQ(answers.size(), 2U);
  EXPECT_EQ(answers[1]->value, 1);
  EXPECT_EQ(source.calls, 1);
}

TEST_F(coalescer, ends_the_call_when_its_last_asker_leaves) {
  Scope leaver(world.loop);
  leaver.set_deadline(world.loop.now() + std::chrono::milliseconds(100));
  leaver.spawn(&coalescer::ask, this, 7, Duration{}, Duration{});
  leaver.spawn(&coalescer::ask, this, 7, Duration{}, Duration{});
  ASSERT_TRUE(world.run(join(&leaver)));
  Scope scope(world.loop);
  scope.spawn(&coalescer::ask, this, 7, Duration{}, Duration{});
  ASSERT_TRUE(world.run(join(&scope)));
  EXPECT_EQ(calls.in_flight(), 0U);
  EXPECT_EQ(source.calls, 2) << "the abandoned call answers nobody";
  ASSERT_EQ(answers.size(), 3U);
  EXPECT_EQ(answers[2]->value, 2);
}

TEST_F(coalescer, hands_an_error_to_all_askers_and_goes_on) {
  Scope scope(world.loop);
  scope.spawn(&coalescer::ask, this, -1, Duration{}, Duration{});
  scope.spawn(&coalescer::ask, this, -1, Duration{}, Duration{});
  scope.spawn(&coalescer::ask, this, 7, Duration(seconds(2)), Duration{});
  ASSERT_TRUE(world.run(join(&scope)));
  ASSERT_EQ(answers.size(), 3U);
  EXPECT_EQ(answers[0].outcome(), Outcome::lost);
  EXPECT_EQ(answers[1].outcome(), Outcome::lost);
  EXPECT_EQ(answers[2]->value, 2);
}

TEST_F(coalescer, leaves_nothing_behind_when_its_world_is_torn_down_half_way) {
  const std::size_t frames = detail::live_frames;
  {
    VirtualWorld other;
    Coalescer<int, int> torn{other.loop, [this](int key) { return source.fetch(key); }};
    Scope scope(other.loop);
    struct Asker {
      static Task<Result<>> ask(Coalescer<int, int>* from) {
        CO_TRY(co_await from->ask(1, Moment{}));
        co_return {};
      }
    };
    scope.spawn(&Asker::ask, &torn);
    other.loop.run_until([&] { return torn.in_flight() == 1 && source.calls == 1; });
  }
  EXPECT_EQ(detail::live_frames, frames);
}

}  // namespace
}  // namespace isthmus::cloud
