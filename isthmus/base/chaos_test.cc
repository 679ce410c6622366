// The runtime under arbitrary programs: actors that sleep, wait, send, receive, open scopes within
// scopes, cancel, fail, ignore errors and are destroyed, all drawn from a seed. Whatever they do,
// a cancelled scope ends without time passing, a destroyed one leaves nothing behind, and the same
// seed gives the same history.
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include <gtest/gtest.h>

#include "isthmus/base/channel.h"
#include "isthmus/base/random.h"
#include "isthmus/base/rate_limit.h"
#include "isthmus/base/signal.h"
#include "isthmus/base/virtual_world.h"

namespace isthmus {
namespace {

using namespace std::chrono_literals;

constexpr int kDepthMax = 4;
constexpr std::uint64_t kStepsMax = 10;

struct Chaos {
  explicit Chaos(std::uint64_t seed) : random(seed) {}

  Duration some_time() { return random.between(-1s, 3s); }

  // Adds to the history: who, what came out, and when.
  void note(std::uint64_t actor, Outcome outcome) {
    ++notes;
    const auto now = static_cast<std::uint64_t>(world.loop.now().time_since_epoch().count());
    for (const std::uint64_t part : {actor, static_cast<std::uint64_t>(outcome), now}) {
      history = (history ^ part) * 1099511628211U;  // FNV-1a, by words.
    }
  }

  VirtualWorld world;
  SeededRandom random;
  Scope outliving{world.loop};
  Signal signal;
  Channel<int> channel{2};
  TokenBucket bucket{world.loop, 2, 2};
  bool uncancellable_work = false;
  std::uint64_t next_actor = 0;
  std::uint64_t notes = 0;
  std::uint64_t history = 14695981039346656037U;
};

Task<Result<>> actor(Chaos& chaos, int depth);

Task<Result<>> take_a_value(Chaos& chaos) {
  const std::optional<int> value = CO_TRY(co_await chaos.channel.receive());
  EXPECT_TRUE(value);
  co_return Result<>{};
}

Task<Result<>> sleep_task(Duration duration) { co_return co_await sleep_for(duration); }

Task<Result<>> inner_scope(Chaos& chaos, int depth) {
  Scope& here = co_await current_scope();
  Scope scope(here);
  if (chaos.random.below(3) == 0) {
    scope.set_deadline(chaos.world.loop.now() + chaos.some_time());
  }
  for (std::uint64_t children = chaos.random.below(4); children > 0; --children) {
    scope.spawn(actor, std::ref(chaos), depth + 1);
  }
  if (chaos.random.below(2) == 0) {
    Result<> slept = co_await sleep_for(chaos.some_time());
    // Leaving here destroys the children where they stand.
    if (!slept && chaos.random.below(4) == 0) co_return slept;
    if (chaos.random.below(2) == 0) scope.cancel();
  }
  Result<> joined = co_await scope.join();
  EXPECT_EQ(scope.children(), 0U);
  co_return joined;
}

Task<Result<>> one_step(Chaos& chaos, int depth) {
  switch (chaos.random.below(depth < kDepthMax ? 10 : 7)) {
    case 0:
      co_return co_await sleep_for(chaos.some_time());
    case 1:
      co_return co_await chaos.signal.wait();
    case 2:
      if (chaos.random.below(2) == 0) {
        chaos.signal.set();
      } else {
        chaos.signal.clear();
      }
      co_return co_await yield();
    case 3:
      co_return co_await chaos.channel.send(1);
    case 4:
      co_return co_await take_a_value(chaos);
    case 5:
      co_return co_await chaos.bucket.take();
    case 6:
      if (chaos.uncancellable_work) {
        const Uncancellable anyway(chaos.outliving);
        co_return co_await anyway.run(sleep_task(chaos.some_time()));
      }
      co_return fail(Outcome::denied, "by chance");
    case 7:
    case 8:
      co_return co_await inner_scope(chaos, depth);
    default:
      co_return co_await with_timeout(chaos.some_time(), actor(chaos, depth + 1));
  }
}

Task<Result<>> actor(Chaos& chaos, int depth) {
  const std::uint64_t me = chaos.next_actor++;
  for (std::uint64_t steps = chaos.random.below(kStepsMax); steps > 0; --steps) {
    Result<> result = co_await one_step(chaos, depth);
    chaos.note(me, result.outcome());
    if (!result && chaos.random.below(2) == 0) co_return result;
  }
  co_return Result<>{};
}

enum class End { crash, cancel };

std::pair<std::uint64_t, std::uint64_t> history_of(std::uint64_t seed) {
  const std::size_t frames = detail::live_frames;
  Chaos chaos(seed);
  const auto end = chaos.random.below(2) == 0 ? End::crash : End::cancel;
  chaos.uncancellable_work = chaos.random.below(2) == 0;
  auto root = std::make_unique<Scope>(chaos.world.loop);
  for (int i = 0; i < 6; ++i) root->spawn(actor, std::ref(chaos), 0);
  chaos.world.advance(chaos.random.between(0s, 20s));

  if (end == End::cancel) {
    root->cancel();
    chaos.world.settle();
    if (chaos.uncancellable_work) chaos.world.advance(10min);
    EXPECT_EQ(root->children(), 0U) << "a cancelled scope did not end";
  }
  root.reset();
  EXPECT_EQ(detail::live_frames, frames) << "a frame was left behind";
  chaos.world.advance(1h);
  EXPECT_FALSE(chaos.world.loop.run_until([] { return false; })) << "a timer was left behind";
  return {chaos.history, chaos.notes};
}

TEST(chaos, whatever_actors_do_scopes_end_and_histories_repeat) {
  std::uint64_t notes = 0;
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const auto first = history_of(seed);
    const auto second = history_of(seed);
    EXPECT_EQ(first, second) << "the same seed, another history";
    ASSERT_FALSE(testing::Test::HasFailure());
    notes += first.second;
  }
  EXPECT_GT(notes, 20'000U) << "actors that do next to nothing prove next to nothing";
}

}  // namespace
}  // namespace isthmus
