// What the runtime itself costs, in CPU time per operation. A manager's work is waiting, so these
// figures matter only when they are bad: each operation below happens a few times per API call.
#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include <benchmark/benchmark.h>

#include "isthmus/base/channel.h"
#include "isthmus/base/rate_limit.h"
#include "isthmus/base/virtual_world.h"
#include "isthmus/base/work_queue.h"

namespace isthmus {
namespace {

using namespace std::chrono_literals;

// Each coroutine does this much per run of the loop, so that starting it does not count.
constexpr int kBatch = 1000;

Task<int> answer(int number) {
  benchmark::DoNotOptimize(number);
  co_return number;
}
Task<Result<>> call_often() {
  for (int i = 0; i < kBatch; ++i) {
    const int number = co_await answer(i);
    benchmark::DoNotOptimize(number);
  }
  co_return Result<>{};
}

void call_a_task(benchmark::State& state) {
  VirtualWorld world;
  for (auto _ : state) benchmark::DoNotOptimize(world.run(call_often()));
  state.SetItemsProcessed(state.iterations() * kBatch);
}
BENCHMARK(call_a_task);

Task<Result<>> sleep_often() {
  for (int i = 0; i < kBatch; ++i) CO_TRY(co_await sleep_for(1ms));
  co_return Result<>{};
}

void sleep_and_resume(benchmark::State& state) {
  VirtualWorld world;
  for (auto _ : state) benchmark::DoNotOptimize(world.run(sleep_often()));
  state.SetItemsProcessed(state.iterations() * kBatch);
}
BENCHMARK(sleep_and_resume);

Task<Result<>> sleep_once(Duration duration) { co_return co_await sleep_for(duration); }

void timers_of_many(benchmark::State& state) {
  VirtualWorld world;
  for (auto _ : state) {
    Scope scope(world.loop);
    for (int i = 0; i < state.range(0); ++i) {
      scope.spawn(sleep_once, std::chrono::milliseconds(i * 7919 % 10'007));
    }
    world.loop.run_until([&scope] { return scope.children() == 0; });
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(timers_of_many)->Arg(1000)->Arg(10'000);

Task<Result<>> one_timeout(int) { co_return co_await with_timeout(1s, sleep_once(1ms)); }
Task<Result<>> time_out_often() {
  for (int i = 0; i < kBatch; ++i) CO_TRY(co_await one_timeout(i));
  co_return Result<>{};
}

void sleep_under_a_timeout(benchmark::State& state) {
  VirtualWorld world;
  for (auto _ : state) benchmark::DoNotOptimize(world.run(time_out_often()));
  state.SetItemsProcessed(state.iterations() * kBatch);
}
BENCHMARK(sleep_under_a_timeout);

Task<Result<>> ping(Channel<int>& there, Channel<int>& back) {
  for (int i = 0; i < kBatch; ++i) {
    CO_TRY(co_await there.send(i));
    const std::optional<int> echo = CO_TRY(co_await back.receive());
    benchmark::DoNotOptimize(echo);
  }
  there.close();
  co_return Result<>{};
}
Task<Result<>> pong(Channel<int>& there, Channel<int>& back) {
  for (;;) {
    const std::optional<int> number = CO_TRY(co_await there.receive());
    if (!number) co_return Result<>{};
    CO_TRY(co_await back.send(*number));
  }
}

void channel_round_trip(benchmark::State& state) {
  VirtualWorld world;
  for (auto _ : state) {
    Channel<int> there(1), back(1);
    Scope scope(world.loop);
    scope.spawn(ping, std::ref(there), std::ref(back));
    scope.spawn(pong, std::ref(there), std::ref(back));
    world.loop.run_until([&scope] { return scope.children() == 0; });
  }
  state.SetItemsProcessed(state.iterations() * kBatch);
}
BENCHMARK(channel_round_trip);

Task<Result<>> work(WorkQueue& queue, int keys) {
  for (int i = 0; i < keys; ++i) {
    const std::string key = CO_TRY(co_await queue.get());
    queue.forget(key);
    queue.done(key);
  }
  co_return Result<>{};
}

void queue_add_get_done(benchmark::State& state) {
  VirtualWorld world;
  SeededRandom random(1);
  Metrics metrics;
  WorkQueue queue(world.loop, random, metrics, {.name = "bench"});
  std::vector<std::string> keys;
  for (int i = 0; i < state.range(0); ++i) keys.push_back("default/service-" + std::to_string(i));
  for (auto _ : state) {
    for (const std::string& key : keys) queue.add(key);
    benchmark::DoNotOptimize(world.run(work(queue, static_cast<int>(keys.size()))));
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(queue_add_get_done)->Arg(1000)->Arg(10'000);

Task<Result<>> take_often(TokenBucket& bucket) {
  for (int i = 0; i < kBatch; ++i) CO_TRY(co_await bucket.take());
  co_return Result<>{};
}

void token_bucket_wait(benchmark::State& state) {
  VirtualWorld world;
  TokenBucket bucket(world.loop, 200, 1);
  for (auto _ : state) benchmark::DoNotOptimize(world.run(take_often(bucket)));
  state.SetItemsProcessed(state.iterations() * kBatch);
}
BENCHMARK(token_bucket_wait);

}  // namespace
}  // namespace isthmus

BENCHMARK_MAIN();
