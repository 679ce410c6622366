// The service controller among faults: whatever goes wrong in whatever order, a finalizer stands as
// long as anything does in the cloud, what is foreign stays, and once everything is well again, the
// cloud has exactly what the Services ask for. Each failure names its seed.
#include <map>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "isthmus/controllers/chaos_testing.h"
#include "isthmus/controllers/service.h"
#include "isthmus/controllers/service_testing.h"

namespace isthmus::controllers {
namespace {

using namespace std::chrono_literals;
using kube::testing::Verb;

constexpr int kServices = 5;
constexpr int kSteps = 60;
constexpr std::uint64_t kSeeds = 100;
constexpr const char* kForeignName = "svc-somebody-else";

class Chaos final : public testing::ServiceStory {
 public:
  explicit Chaos(std::uint64_t seed) : chance_(seed) {}
  void TestBody() override {}

  void run() {
    cloud.load_balancers.standing[kForeignName].spec.name = kForeignName;
    if (chance_.below(3) == 0) cloud.has_target_sets = false;
    if (chance_.below(3) == 0) cloud.load_balancers.tells = false;
    cloud.load_balancers.settle_after = chance_.between(0s, 3s);
    options.node_spread = 5s;
    options.orphans_max = 1000;  // Here people do tear out that many.
    start_with_nodes();
    for (int step = 0; step < kSteps; ++step) {
      mischief();
      pass(chance_.between(1ms, 4s));
      check();
    }
    heal();
    pass(50min);
    check_the_end();
  }

 private:
  static std::string name(int i) { return fmt::format("web{}", i); }
  std::string any() { return name(static_cast<int>(chance_.below(kServices))); }

  void mischief() {
    const std::string service = any();
    switch (chance_.below(18)) {
      case 0:
      case 1:
      case 2:
        if (!exists(service)) put_service(service);
        break;
      case 3:
        if (exists(service)) delete_service(service);
        break;
      case 4:
        if (exists(service)) {  // Torn out by hand, or with it a new one of the name.
          api.erase(kube::Service::resource, {"default", service});
          if (chance_.below(2) == 0) put_service(service);
        }
        break;
      case 5:
        if (exists(service)) {
          set_spec(service, "type", chance_.below(2) == 0 ? "ClusterIP" : "LoadBalancer");
        }
        break;
      case 6:
        if (exists(service)) {
          set_spec(service, "sessionAffinity", chance_.below(2) == 0 ? "ClientIP" : "None");
        }
        break;
      case 7:
        if (exists(service)) change(service, [](json::object& object) { object.erase("status"); });
        break;
      case 8:
        api.inject({.verb = Verb::patch,
                    .plural = "services",
                    .error = {chance_.below(2) == 0 ? Outcome::lost : Outcome::conflict, "fault"},
                    .after_effect = chance_.below(2) == 0,
                    .times = 1 + static_cast<int>(chance_.below(3))});
        break;
      case 9:
        api.inject({.verb = Verb::get, .error = {Outcome::busy, "429", 2s}});
        break;
      default:
        mischief_in_the_cloud();
        break;
    }
  }

  void mischief_in_the_cloud() {
    auto& balancers = cloud.load_balancers;
    const std::string service = any();
    const bool has_one = exists(service) && stands(service);
    switch (chance_.below(10)) {
      case 0:
        cloud.faults.error = Error{chance_.below(2) == 0 ? Outcome::lost : Outcome::busy, "out"};
        cloud.faults.errors = 1 + chance_.below(5);
        break;
      case 1:
        cloud.faults.answers_lost = 1 + chance_.below(3);
        break;
      case 2:
        cloud.faults.delay = chance_.between(0s, 4s);
        break;
      case 3:
        balancers.cut_follows();
        break;
      case 4:
        if (has_one) balancers.take_away(balancer_name(service));
        break;
      case 5:
        if (has_one) {
          balancer(service).spec.listeners[0].target_port = 7;
          balancers.touched(balancer_name(service), true);
        }
        break;
      case 6:
        balancers.release_takes = chance_.between(0s, 10s);
        break;
      case 7:
        add_node(fmt::format("node{}", chance_.below(6)), fmt::format("10.0.1.{}", nodes_++ % 200));
        break;
      case 8:
        api.frozen = !api.frozen;
        if (!api.frozen) api.bookmark();
        break;
      case 9:
        kill();
        start();
        break;
    }
  }

  void heal() {
    api.heal();
    if (api.frozen) {
      api.frozen = false;
      api.bookmark();
    }
    cloud.faults = {};
    cloud.load_balancers.release_takes = {};
  }

  bool wants(const std::string& service) const {
    return exists(service) && text(service, "/spec/type") == "LoadBalancer" &&
           at(service, "/metadata/deletionTimestamp").is_null();
  }

  // What must hold at every moment.
  void check() const {
    EXPECT_TRUE(cloud.load_balancers.standing.contains(kForeignName));
    for (int i = 0; i < kServices; ++i) {
      if (!exists(name(i)) || !wants(name(i))) continue;
      EXPECT_TRUE(!stands(name(i)) || has_finalizer(name(i)))
          << name(i) << " has a load balancer that its finalizer does not hold";
    }
  }

  void check_the_end() {
    check();
    std::set<std::string> wanted{kForeignName};
    std::set<std::string> addresses;
    for (int i = 0; i < kServices; ++i) {
      if (!wants(name(i))) {
        EXPECT_FALSE(exists(name(i)) && has_finalizer(name(i))) << name(i);
        EXPECT_EQ(exists(name(i)) ? address(name(i)) : "", "") << name(i);
        continue;
      }
      wanted.insert(balancer_name(name(i)));
      ASSERT_TRUE(stands(name(i))) << name(i);
      EXPECT_EQ(address(name(i)), to_string(balancer(name(i)).addresses[0]));
      EXPECT_TRUE(addresses.insert(address(name(i))).second) << "an address is two Services'";
      EXPECT_EQ(balancer(name(i)).spec.listeners[0].target_port, 30080);
      const bool by_client = text(name(i), "/spec/sessionAffinity") == "ClientIP";
      EXPECT_EQ(balancer(name(i)).spec.affinity, by_client
                                                     ? cloud::LoadBalancerSpec::Affinity::client_ip
                                                     : cloud::LoadBalancerSpec::Affinity::none);
      if (!cloud.has_target_sets) check_targets(balancer(name(i)).spec.targets);
    }
    std::set<std::string> standing;
    for (const auto& [each, balancer] : cloud.load_balancers.standing) standing.insert(each);
    EXPECT_EQ(standing, wanted);
    if (!cloud.has_target_sets) return;
    EXPECT_EQ(cloud.target_sets.standing.contains(set_name()), wanted.size() > 1);
    if (wanted.size() > 1) check_targets(cloud.target_sets.standing.at(set_name()).targets);
  }

  void check_targets(const std::vector<cloud::Target>& targets) const {
    std::set<std::string> names;
    for (const cloud::Target& target : targets) names.insert(target.name);
    std::set<std::string> nodes;
    for (const kube::ObjectKey& key : api.keys(kube::Node::resource)) nodes.insert(key.name);
    EXPECT_EQ(names, nodes);
  }

  SeededRandom chance_;
  int nodes_ = 0;
};

TEST(service_chaos, does_no_harm_and_gets_there_in_the_end) {
  testing::live_through<Chaos>(kSeeds);
}

}  // namespace
}  // namespace isthmus::controllers
