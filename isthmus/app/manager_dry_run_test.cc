// The whole manager in a dry run, in virtual time: it goes through all its stories, says so, and
// writes nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "isthmus/app/dry_run_log.h"
#include "isthmus/app/manager_testing.h"
#include "isthmus/cloud/dry_run_provider.h"
#include "isthmus/kube/dry_run_api.h"

namespace isthmus::app {
namespace {

using kube::testing::Verb;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::HasSubstr;

struct ManagerDryRun : ManagerFixture {
  ManagerDryRun() {
    api.put({"v1", "Namespace", "namespaces", false},
            R"({"metadata": {"name": "kube-system",
                "uid": "11111111-1111-1111-1111-111111111111"}})");
    auto fake = std::make_unique<providers::fake::FakeProvider>("isthmus");
    provider = fake.get();
    provider->add("m1", "node1", {{cloud::AddressType::internal_ip, "10.0.0.1"}});
    cloud.emplace(std::make_unique<cloud::DryRunProvider>(std::move(fake), real_log),
                  cloud::GuardLimits{}, gate, world.loop, metrics, log);
    ManagerOptions options{.dry_run = true};
    options.election = {.lease = kLease, .identity = "dry"};
    options.node.plan.scheme = "isthmus";
    options.node.refresh_every = seconds(2);
    manager.emplace(
        ManagerDoors{world.loop, random, metrics, log, dry, dry, dry, dry, *cloud, gate},
        std::move(options));
    scope.emplace(world.loop);
    scope->spawn(run_manager, std::ref(*this));
  }

  static Task<Result<>> run_manager(ManagerDryRun& self) {
    Result<> ended = co_await self.manager->run(self.stopping);
    self.answer = ended;
    co_return Result<>{};
  }
  unsigned writes() const {
    return api.calls(Verb::create) + api.calls(Verb::patch) + api.calls(Verb::remove);
  }
  std::size_t said(std::string_view part) const {
    return static_cast<std::size_t>(
        std::ranges::count_if(real_log.lines, [part](const MemoryLogger::Line& line) {
          return line.text.find(part) != std::string::npos;
        }));
  }
  void put_service(const std::string& name, std::string_view more = "") {
    api.put(kube::Service::resource, R"({"metadata": {"namespace": "default", "name": ")" + name +
                                         R"("}, "spec": {"type": "LoadBalancer", "ports": [
        {"name": "http", "protocol": "TCP", "port": 80, "nodePort": 30080}],
        "clusterIPs": ["10.96.0.1"], "ipFamilies": ["IPv4"])" +
                                         std::string(more) + "}}");
  }

  MemoryLogger real_log;
  DryRunLog log{real_log};
  kube::DryRunApi dry{api, real_log};
  SeededRandom random{3};
  Metrics metrics;
  WriteGate gate{metrics};
  providers::fake::FakeProvider* provider = nullptr;
  std::optional<cloud::Stack> cloud;
  std::optional<Manager> manager;
  Signal stopping;
  std::optional<Result<>> answer;
  std::optional<Scope> scope;  // Last: what runs goes before what it runs on.
};

TEST_F(ManagerDryRun, tells_each_decision_once_and_writes_nothing) {
  register_node("node1");
  put_service("web");
  pass(minutes(30));

  EXPECT_EQ(writes(), 0U);
  EXPECT_FALSE(initialized("node1"));
  EXPECT_TRUE(provider->load_balancers.standing.empty());
  EXPECT_EQ(provider->load_balancers.ensures + provider->target_sets.ensures, 0U);
  EXPECT_EQ(said(R"x("node initialized (dry run)" node="node1")x"), 1U);
  EXPECT_EQ(said(R"("would create load balancer")"), 1U);
  EXPECT_EQ(said(R"x("load balancer ensured (dry run)" service="default/web")x"), 1U);
  EXPECT_EQ(said(R"("would patch" object="services/default/web" subresource="status")"), 2U)
      << "the finalizer and the address";
}

TEST_F(ManagerDryRun, rests_between_its_decisions) {
  register_node("node1");
  put_service("web");
  pass(minutes(2));
  const unsigned reads = api.calls(Verb::get);
  const std::size_t previews = provider->load_balancers.previews;
  pass(minutes(10));
  EXPECT_LT(api.calls(Verb::get) - reads, 10 * 60 / 5 + 50) << "the look at the lease, and little";
  EXPECT_LE(provider->load_balancers.previews - previews, 1U);
}

TEST_F(ManagerDryRun, takes_no_lease_and_says_who_has_it) {
  api.put(kube::Lease::resource, R"({"metadata": {"namespace": "kube-system",
      "name": "cloud-controller-manager"}, "spec": {"holderIdentity": "the-leader"}})");
  pass(minutes(1));
  EXPECT_EQ(holder(), "the-leader");
  EXPECT_GE(said(R"(holder="the-leader")"), 1U);
  std::set<std::string> checks;
  for (const HealthCheck& check : manager->checks()) checks.insert(check.name);
  EXPECT_TRUE(checks.contains("dry-run"));
  EXPECT_FALSE(checks.contains("leaderElection") || checks.contains("standby"));
  EXPECT_THAT(metrics.text(), HasSubstr("isthmus_dry_run 1"));
}

TEST_F(ManagerDryRun, follows_what_others_really_do) {
  register_node("node1");
  pass(seconds(10));
  ASSERT_EQ(said(R"x("node initialized (dry run)")x"), 1U);
  // The real manager comes, and all is well.
  api.put(kube::Node::resource, R"({"metadata": {"name": "node1"},
      "spec": {"providerID": "isthmus://m1"}, "status": {"addresses": [
        {"type": "InternalIP", "address": "10.0.0.1"},
        {"type": "Hostname", "address": "node1"}]}})");
  const std::size_t told = said("node1");
  pass(minutes(5));
  EXPECT_EQ(said("node1"), told) << real_log.lines.back().text;
}

TEST_F(ManagerDryRun, ends_when_it_is_asked_to) {
  pass(seconds(5));
  stopping.set();
  pass(seconds(3));
  ASSERT_TRUE(answer.has_value());
  EXPECT_TRUE(*answer);
  EXPECT_EQ(writes(), 0U);
}

}  // namespace
}  // namespace isthmus::app
