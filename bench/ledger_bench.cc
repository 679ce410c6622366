// What a change among a thousand load balancers of 100 inline targets costs the backend's loop, in
// CPU time, with the store in memory: a file adds what the disk takes for each commit.
//
// The aim is below 1 ms for a status, which is written far more often than anything else, and below
// 20 ms for a PUT with everything around it; everything is read back in far less than the 500 ms of
// a whole restart.
#include <memory>
#include <string>

#include <benchmark/benchmark.h>

#include "isthmus/base/virtual_world.h"
#include "isthmus/infra/ledger.h"
#include "isthmus/infra/store/sqlite_store.h"

namespace isthmus::infra {
namespace {

constexpr int kBalancers = 1000;
constexpr int kTargets = 100;

ObjectName name_of(int number) { return {"prod", "lb-" + std::to_string(number)}; }

api::LoadBalancer a_balancer(int number, int targets) {
  api::LoadBalancer balancer;
  balancer.metadata.owner = "prod";
  balancer.metadata.name = name_of(number).name;
  balancer.spec.families = {IpFamily::v4};
  balancer.spec.listeners = {{"tcp-80", api::Protocol::tcp, 80, "machines"}};
  api::TargetGroup group;
  group.name = "machines";
  for (int i = 0; i < targets; ++i) {
    std::string address = "10." + std::to_string(i / 250) + ".0." + std::to_string(i % 250 + 1);
    group.targets.push_back({parse_ip(address).value(), 8080, 1, false});
  }
  balancer.spec.target_groups = {std::move(group)};
  return balancer;
}

struct Backend {
  Backend() {
    ledger.found_in_kernel({}, {});
    api::Pool pool;
    pool.name = "public";
    pool.ranges = {parse_prefix("198.18.0.0/15").value()};
    std::vector<api::Pool> pools{std::move(pool)};
    check(world.run(ledger.load_pools(std::move(pools))).has_value());
    for (int i = 0; i < kBalancers; ++i) {
      put(a_balancer(i, kTargets));
      report(i, 1);
    }
  }

  static void check(bool done) { ISTHMUS_ASSERT(done, "the store in memory takes everything"); }
  void put(api::LoadBalancer said) {
    Result<BalancerPlan> plan = world.run(ledger.put(std::move(said), {}, nullptr, false));
    check(plan && !plan->problem && plan->write);
  }
  void report(int number, std::uint64_t repairs) {
    api::LoadBalancerStatus status;
    status.repairs = repairs;
    check(world.run(ledger.report({{name_of(number), status}})).has_value());
  }
  Ledger::Snapshot latest() { return world.run(ledger.latest()).value(); }

  VirtualWorld world;
  SeededRandom random{1};
  std::unique_ptr<Store> store = open_sqlite_store(":memory:").value();
  Ledger ledger{*store, world.loop, random, "lb1"};
};

void one_status(benchmark::State& state) {
  Backend backend;
  std::uint64_t repairs = 1;
  for (auto _ : state) {
    backend.report(7, ++repairs);
    benchmark::DoNotOptimize(backend.latest());
  }
}
BENCHMARK(one_status)->Unit(benchmark::kMicrosecond);

// The reconciler looks at one for as long as its pass takes.
void one_status_while_somebody_keeps_a_snapshot(benchmark::State& state) {
  Backend backend;
  std::uint64_t repairs = 1;
  for (auto _ : state) {
    Ledger::Snapshot kept = backend.latest();
    backend.report(7, ++repairs);
    benchmark::DoNotOptimize(backend.latest());
  }
}
BENCHMARK(one_status_while_somebody_keeps_a_snapshot)->Unit(benchmark::kMicrosecond);

void one_put_that_changes_a_target(benchmark::State& state) {
  Backend backend;
  api::LoadBalancer said = a_balancer(7, static_cast<int>(state.range(0)));
  api::Target& target = said.spec.target_groups[0].targets[3];
  for (auto _ : state) {
    target.weight = target.weight % 100 + 1;
    backend.put(said);
    benchmark::DoNotOptimize(backend.latest());
  }
}
BENCHMARK(one_put_that_changes_a_target)->Arg(100)->Arg(5000)->Unit(benchmark::kMicrosecond);

void everything_read_after_a_restart(benchmark::State& state) {
  Backend backend;
  for (auto _ : state) {
    Ledger fresh(*backend.store, backend.world.loop, backend.random, "lb1");
    benchmark::DoNotOptimize(backend.world.run(fresh.latest()).value());
  }
}
BENCHMARK(everything_read_after_a_restart)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace isthmus::infra

BENCHMARK_MAIN();
