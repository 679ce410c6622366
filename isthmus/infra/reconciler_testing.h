// One process of the backend with its reconciler, on an imagined host: what tests of it share.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "isthmus/base/scope.h"
#include "isthmus/base/virtual_world.h"
#include "isthmus/infra/host_testing.h"
#include "isthmus/infra/reconciler.h"
#include "isthmus/infra/store/sqlite_store.h"

namespace isthmus::infra::testing {

using namespace std::chrono_literals;

inline const ObjectName kWeb{"prod", "web"};
inline const IpAddress kVip = ip("10.0.0.100");

// Everybody answers, unless said otherwise.
class FakeProber final : public net::Prober {
 public:
  Task<Result<>> probe(net::ProbeRequest request) override {
    if (down.contains(request.endpoint)) {
      co_return fail(Outcome::lost, "connection refused");
    }
    co_return Result<>{};
  }
  std::set<Endpoint> down;
};

// Commits count as steps of the process as well, and fail when it is gone.
class MortalStore final : public Store {
 public:
  MortalStore(Store& store, FakeHost& host) : store_(store), host_(host) {}

  Task<Result<Snapshot>> read(Range range) override {
    Result<Snapshot> answer = co_await store_.read(std::move(range));
    co_return answer;
  }
  Task<Result<Revision>> commit(std::vector<Condition> conditions,
                                std::vector<Write> writes) override {
    const bool gone = writes.empty() ? host_.is_dead() : !host_.step();
    if (is_down || gone) co_return fail(Outcome::lost, "the store is gone");
    Result<Revision> answer = co_await store_.commit(std::move(conditions), std::move(writes));
    co_return answer;
  }
  Task<Result<Changes>> watch(std::string prefix, Revision after, std::size_t limit) override {
    Result<Changes> answer = co_await store_.watch(std::move(prefix), after, limit);
    co_return answer;
  }
  Task<Result<>> compact(Revision before) override {
    Result<> answer = co_await store_.compact(before);
    co_return answer;
  }
  bool is_down = false;

 private:
  Store& store_;
  FakeHost& host_;
};

inline api::Pool public_pool() {
  return {.name = "public", .ranges = {parse_prefix("10.0.0.100/30").value()}};
}

inline api::LoadBalancer a_balancer(const ObjectName& name = kWeb) {
  api::LoadBalancer balancer;
  balancer.metadata.owner = name.owner;
  balancer.metadata.name = name.name;
  balancer.spec.pool = "public";
  balancer.spec.families = {IpFamily::v4};
  balancer.spec.listeners = {{"tcp-80", api::Protocol::tcp, 80, "machines"}};
  balancer.spec.target_groups = {
      {.name = "machines", .targets = {{ip("10.1.0.1"), 30080}, {ip("10.1.0.2"), 30080}}}};
  return balancer;
}

// A process from its start until it is destroyed, which is how it is killed.
struct Process {
  Process(VirtualWorld& world_, Store& kept_store, FakeKernel& kernel, bool announce_only = false,
          const std::string& host_name = "lb1")
      : world(world_),
        host(kernel),
        store(kept_store, host),
        ledger(store, world.loop, random, host_name),
        health(world.loop, prober, random, metrics),
        reconciler({.ledger = ledger,
                    .health = health,
                    .host = host,
                    .clock = world.loop,
                    .random = random,
                    .metrics = metrics,
                    .log = log,
                    .role = {.name = host_name, .announce_only = announce_only}}),
        scope(std::make_unique<Scope>(world.loop)) {}

  // As the backend starts: nothing is served, the host is looked at, then everything runs.
  Result<> start() {
    Result<> started = world.run(reconciler.start());
    if (!started) return started;
    Result<std::vector<std::string>> pools = world.run(ledger.load_pools({pool}));
    if (!pools) return std::unexpected(pools.error());
    scope->spawn(&Reconciler::run, &reconciler);
    scope->spawn(&HealthChecker::run, &health);
    return {};
  }

  Result<BalancerPlan> put(const api::LoadBalancer& balancer) {
    return world.run(ledger.put(balancer, {}, nullptr, false));
  }
  Result<BalancerPlan> remove(const ObjectName& name = kWeb) {
    return world.run(ledger.remove(name, {}, false));
  }
  // One that is put and stands after as long as a probe takes.
  void serve(const api::LoadBalancer& balancer = a_balancer()) {
    Result<BalancerPlan> plan = put(balancer);
    ASSERT_TRUE(plan) << plan.error().message;
    ASSERT_FALSE(plan->problem) << plan->problem->detail;
    world.advance(1s);
  }

  std::shared_ptr<const LedgerSnapshot> ledger_now() { return world.run(ledger.latest()).value(); }
  api::LoadBalancerStatus status(const ObjectName& name = kWeb) {
    const StatusRecord* found = ledger_now()->status(name);
    return found == nullptr ? api::LoadBalancerStatus{} : found->status;
  }
  // "True Programmed", "False AddressConflict", or "" where there is no such condition.
  std::string said(std::string_view type, const ObjectName& name = kWeb) {
    const api::LoadBalancerStatus now = status(name);
    const api::Condition* condition = api::find(now.conditions, type);
    if (condition == nullptr) return "";
    return std::string(api::to_string(condition->status)) + " " + condition->reason;
  }
  std::string message(std::string_view type, const ObjectName& name = kWeb) {
    const api::LoadBalancerStatus now = status(name);
    const api::Condition* condition = api::find(now.conditions, type);
    return condition == nullptr ? "" : condition->message;
  }

  VirtualWorld& world;
  SeededRandom random{7};
  Metrics metrics;
  MemoryLogger log;
  api::Pool pool = public_pool();
  FakeProber prober;
  FakeHost host;
  MortalStore store;
  Ledger ledger;
  HealthChecker health;
  Reconciler reconciler;
  std::unique_ptr<Scope> scope;
};

// The kernel holds what the store says, and nothing else.
inline void expect_converged(Process& process, const FakeKernel& kernel) {
  std::set<IpAddress> addresses;  // Some may be shared.
  std::size_t listeners = 0;
  std::shared_ptr<const LedgerSnapshot> ledger = process.ledger_now();
  for (const auto& [name, record] : ledger->balancers) {
    EXPECT_FALSE(record->is_leaving()) << to_string(name);
    if (record->is_tombstone()) continue;
    addresses.insert(record->addresses.begin(), record->addresses.end());
    listeners += record->spec.listeners.size();
    EXPECT_EQ(process.said("Ready", name), "True Ready") << process.message("Ready", name);
    for (const IpAddress& address : record->addresses) EXPECT_TRUE(kernel.has(address));
  }
  EXPECT_EQ(kernel.ours(), addresses.size());
  EXPECT_EQ(kernel.held.guarded, addresses);
  EXPECT_EQ(kernel.held.listeners.size(), listeners);
  EXPECT_TRUE(process.ledger.orphans().empty());
}

class ReconcilerTest : public ::testing::Test {
 protected:
  void SetUp() override { begin(); }
  void TearDown() override {
    process.reset();
    EXPECT_EQ(kernel.violations, std::vector<std::string>{});
  }

  // Whatever ran before is killed.
  void begin(bool announce_only = false) {
    process.reset();
    process = std::make_unique<Process>(world, *store, kernel, announce_only);
    process->pool = pool;
    Result<> started = process->start();
    ASSERT_TRUE(started) << started.error().message;
    world.settle();
  }

  VirtualWorld world;
  std::unique_ptr<Store> store = open_sqlite_store(":memory:").value();
  FakeKernel kernel;
  api::Pool pool = public_pool();  // Of processes that begin from now on.
  std::unique_ptr<Process> process;
};

}  // namespace isthmus::infra::testing
