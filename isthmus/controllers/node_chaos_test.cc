// The node controller among faults: whatever goes wrong in whatever order, it never does harm, and
// once everything is well again, every Node that is a machine gets it. Each failure names its seed.
#include <map>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "isthmus/controllers/chaos_testing.h"
#include "isthmus/controllers/node.h"
#include "isthmus/controllers/node_testing.h"

namespace isthmus::controllers {
namespace {

using namespace std::chrono_literals;
using kube::testing::Verb;

// node0 matches two machines, and node4 and node5 match one.
constexpr int kNodes = 6;
constexpr int kMachines = 5;
constexpr int kSteps = 60;
constexpr std::uint64_t kSeeds = 100;

class Chaos final : public testing::NodeStory {
 public:
  explicit Chaos(std::uint64_t seed) : chance_(seed) {}
  void TestBody() override {}

  void run() {
    for (int i = 0; i < kMachines; ++i) add_machine(std::to_string(i), name(i));
    cloud.machines[1].names.push_back(name(0));
    cloud.machines[4].names.push_back(name(5));
    start();
    for (int step = 0; step < kSteps; ++step) {
      mischief();
      pass(chance_.between(1ms, 3s));
      check();
    }
    heal();
    pass(15min);
    check();
    for (int i = 1; i < 4; ++i) {
      EXPECT_FALSE(tainted(name(i))) << name(i);
      EXPECT_EQ(at(name(i), "/spec/providerID"), json::value("isthmus://" + std::to_string(i)));
      EXPECT_EQ(at(name(i), "/metadata/labels/topology.kubernetes.io~1zone"), "rack-7");
    }
    EXPECT_TRUE(tainted(name(0)));
    EXPECT_NE(tainted(name(4)), tainted(name(5)));
  }

 private:
  static std::string name(int i) { return "node" + std::to_string(i); }
  bool exists(const std::string& node) const {
    return !api.see(kube::Node::resource, {"", node}).is_null();
  }

  // One thing that the world may do to a controller.
  void mischief() {
    const std::string node = name(static_cast<int>(chance_.below(kNodes)));
    switch (chance_.below(12)) {
      case 0:
      case 1:
      case 2:
        if (!exists(node)) register_node(node);
        break;
      case 3:
        if (exists(node)) api.erase(kube::Node::resource, {"", node});
        break;
      case 4:
        api.inject({.verb = Verb::patch,
                    .error = {Outcome::lost, "cut"},
                    .after_effect = chance_.below(2) == 0,
                    .times = 1 + static_cast<int>(chance_.below(3))});
        break;
      case 5:
        api.inject({.verb = Verb::get, .error = {Outcome::busy, "429", 2s}});
        break;
      case 6:
        cloud.faults.error = Error{chance_.below(2) == 0 ? Outcome::lost : Outcome::busy, "out"};
        cloud.faults.errors = 1 + chance_.below(5);
        break;
      case 7:
        cloud.faults.delay = chance_.between(0s, 4s);
        break;
      case 8:
        api.latency = chance_.between(0s, 500ms);
        break;
      case 9:
        api.break_watches();
        break;
      case 10:
        scribble(node);
        break;
      case 11:
        api.frozen = !api.frozen;
        if (!api.frozen) api.bookmark();
        break;
    }
  }

  // Another writer's label, which must survive.
  void scribble(const std::string& node) {
    if (!exists(node)) return;
    const std::string key = fmt::format("mine{}", ++scribbles_);
    change(node, [&](json::value& object) {
      object.at_pointer("/metadata/labels").as_object()[key] = "kept";
    });
    theirs_[std::string(at(node, "/metadata/uid").as_string())].insert(key);
  }

  void heal() {
    api.heal();
    api.latency = {};
    if (api.frozen) api.bookmark();
    api.frozen = false;
    cloud.faults = {};
    for (int i = 0; i < kNodes; ++i) {
      if (!exists(name(i))) register_node(name(i));
    }
  }

  // What must hold at every moment.
  void check() const {
    std::set<std::string> ids;
    for (const kube::ObjectKey& key : api.keys(kube::Node::resource)) {
      const json::value id = at(key.name, "/spec/providerID");
      if (!tainted(key.name)) {
        EXPECT_TRUE(id.is_string()) << key.name << " lost its taint without a providerID";
        EXPECT_EQ(at(key.name, "/status/addresses/0/type"), "InternalIP")
            << key.name << " lost its taint without an address";
      }
      if (id.is_string()) {
        EXPECT_TRUE(ids.emplace(id.as_string()).second) << id << " is two Nodes";
      }
      EXPECT_NE(json::serialize(at(key.name, "/spec/taints")).find("other"), std::string::npos)
          << "a taint of somebody else is gone from " << key.name;
      const auto theirs = theirs_.find(std::string(at(key.name, "/metadata/uid").as_string()));
      if (theirs == theirs_.end()) continue;
      for (const std::string& label : theirs->second) {
        EXPECT_EQ(at(key.name, "/metadata/labels/" + label), "kept") << key.name;
      }
    }
  }

  SeededRandom chance_;
  int scribbles_ = 0;
  std::map<std::string, std::set<std::string>> theirs_;  // By uid.
};

TEST(node_chaos, does_no_harm_and_gets_there_in_the_end) { testing::live_through<Chaos>(kSeeds); }

}  // namespace
}  // namespace isthmus::controllers
