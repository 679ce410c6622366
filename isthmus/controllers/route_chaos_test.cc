// The route controller among faults: whatever goes wrong in whatever order, no route is taken from
// a live Node, nothing foreign is touched, few routes go at once, and once everything is well
// again, packets go exactly where the Nodes say. Each failure names its seed.
#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "isthmus/controllers/chaos_testing.h"
#include "isthmus/controllers/route_testing.h"

namespace isthmus::controllers {
namespace {

using namespace std::chrono_literals;
using kube::testing::Verb;
using providers::fake::FakeRoute;

constexpr int kNodes = 7;
constexpr int kCidrs = 9;
constexpr int kSteps = 60;
constexpr std::uint64_t kSeeds = 100;

// Longer than from a decision to its effect: what was so within this time may be acted on.
constexpr Duration kLag = 30s;

// More than one pass of removals may not fall into this time.
constexpr Duration kPass = 50s;
constexpr std::size_t kRemovalsMax = 5;

class Chaos final : public testing::RouteStory {
 public:
  explicit Chaos(std::uint64_t seed) : chance_(seed) {}
  void TestBody() override {}

  void run() {
    if (chance_.below(2) == 0) by_single_routes();
    if (chance_.below(3) == 0) cloud.route_tables.tells = false;
    cloud.route_tables.apply_after = chance_.between(0s, 3s);
    for (int i = 0; i < kNodes; ++i) add_machine(std::to_string(i));
    cloud.router.standing[foreign_] = {.is_foreign = true};
    cloud.router.on_change = [this](const IpPrefix& destination, const FakeRoute* before,
                                    const FakeRoute* after) {
      check_change(destination, before, after);
    };
    start();
    for (int step = 0; step < kSteps; ++step) {
      mischief();
      pass(chance_.between(1ms, 20s));
      cloud.route_tables.catch_up(world.loop.now());
      look();
    }
    heal();
    pass(80min);  // A condition that somebody fought over is left to them for an hour.
    check_the_end();
    kill();
  }

 private:
  using Pair = std::pair<IpPrefix, std::string>;  // A destination and a machine.

  static std::string cidr(int i) { return fmt::format("10.244.{}.0/24", i); }
  static IpPrefix prefix(int i) { return parse_prefix(cidr(i)).value(); }
  bool exists(const std::string& node) const {
    return !api.see(kube::Node::resource, {"", node}).is_null();
  }

  void mischief() {
    const int node = static_cast<int>(chance_.below(kNodes));
    chance_.below(2) == 0 ? change_cluster(node) : break_something();
    look();
  }

  void change_cluster(int node) {
    const IpPrefix any = prefix(static_cast<int>(chance_.below(kCidrs)));
    switch (chance_.below(9)) {
      case 0:
      case 1:
      case 2:
      case 3:
        join(node);
        break;
      case 4:
        if (exists(name(node))) remove_node(node);
        break;
      case 5:  // Made anew under its name, with whatever CIDR is given to it now.
        if (exists(name(node))) remove_node(node);
        join(node);
        break;
      case 6:  // A link fails, or is back.
        if (!cloud.router.down.erase(any)) cloud.router.down.insert(any);
        cloud.route_tables.touched(table_name());
        break;
      case 7:  // Other hands take a route away.
        if (any != foreign_) cloud.router.standing.erase(any);
        cloud.route_tables.touched(table_name());
        break;
      case 8:  // A condition that somebody else wrote is nobody's promise.
        if (exists(name(node))) set_condition(name(node), "False", "RouteCreated");
        reached_.insert(text(name(node), "/metadata/uid"));
        break;
    }
  }

  void break_something() {
    switch (chance_.below(11)) {
      case 0:
        api.inject({.verb = Verb::patch,
                    .error = {Outcome::lost, "cut"},
                    .after_effect = chance_.below(2) == 0,
                    .times = 1 + static_cast<int>(chance_.below(3))});
        break;
      case 1:
        api.inject({.verb = Verb::list, .error = {Outcome::busy, "429", 2s}, .times = 2});
        break;
      case 2:
        cloud.faults.error = Error{chance_.below(2) == 0 ? Outcome::lost : Outcome::busy, "out"};
        cloud.faults.errors = 1 + chance_.below(5);
        break;
      case 3:
        cloud.faults.delay = chance_.between(0s, 4s);
        break;
      case 4:
        cloud.faults.answers_lost = 1 + chance_.below(3);
        break;
      case 5:
        api.latency = chance_.between(0s, 500ms);
        break;
      case 6:
        api.break_watches();
        break;
      case 7:
        api.frozen = !api.frozen;
        if (!api.frozen) api.bookmark();
        break;
      case 8:
        kill();
        start();
        break;
      case 9:
        cloud.route_tables.cut_follows();
        break;
      case 10:
        brakes.deletions_are_safe =
            brakes.deletions_are_safe ? Result<>(fail(Outcome::busy, "stopped")) : Result<>();
        break;
    }
  }

  void join(int node) {
    if (exists(name(node))) return;
    if (chance_.below(5) == 0) {
      put_node(name(node),
               fmt::format(R"({{"podCIDRs": ["{}"], "taints": {}}})",
                           cidr(static_cast<int>(chance_.below(kCidrs))), kUninitialized));
    } else {
      add_node(node, fmt::format("\"{}\"", cidr(static_cast<int>(chance_.below(kCidrs)))));
    }
  }

  // The pod CIDR of a Node, and its machine; the latter empty: not initialized.
  std::optional<Pair> of(const kube::ObjectKey& key) const {
    const std::string text_of = text(key.name, "/spec/podCIDRs/0");
    if (text_of.empty()) return std::nullopt;
    const Result<cloud::ProviderId> id =
        cloud::parse_provider_id(text(key.name, "/spec/providerID"));
    return Pair{parse_prefix(text_of).value(), id ? id->id : std::string()};
  }

  // Takes note of what is so now, for what may be decided on it later, and of what has been said
  // since.
  void look() {
    const Moment now = world.loop.now();
    for (const auto& [destination, route] : cloud.router.standing) {
      if (route.instance) routed_at_[{destination, route.instance->id}] = now;
    }
    std::set<std::string> reached;
    for (const kube::ObjectKey& key : api.keys(kube::Node::resource)) {
      const std::optional<Pair> pair = of(key);
      if (!pair) continue;
      owned_at_[*pair] = now;
      const std::string uid = text(key.name, "/metadata/uid");
      since_.emplace(uid, now);
      if (text(key.name, "/status/conditions/0/status") != "False") continue;
      reached.insert(uid);
      if (reached_.contains(uid)) continue;
      EXPECT_TRUE(was_lately(routed_at_, *pair))
          << "R3: " << key.name << " is called reachable, and " << to_string(pair->first)
          << " is not routed to it";
    }
    reached_ = std::move(reached);
    note_wishes();
  }
  // What a table was rightly asked for may be put into effect late, when a link is back.
  void note_wishes() {
    std::set<Pair> asked;
    for (const auto& [name_of_table, table] : cloud.route_tables.standing) {
      for (const cloud::Route& route : table.spec.routes) {
        const Pair pair{route.destination, route.instance ? route.instance->id : std::string()};
        if (asked_.contains(pair) || was_lately(owned_at_, pair)) asked.insert(pair);
      }
    }
    asked_ = std::move(asked);
  }

  // Who came when a removal was already under way is served by the next pass.
  bool has_been_seen(const std::string& uid) const {
    const auto found = since_.find(uid);
    return found != since_.end() && world.loop.now() - found->second > kLag;
  }

  bool was_lately(const std::map<Pair, Moment>& when, const Pair& pair) const {
    const auto found = when.find(pair);
    return found != when.end() && world.loop.now() - found->second <= kLag;
  }

  void check_change(const IpPrefix& destination, const FakeRoute* before, const FakeRoute* after) {
    const Moment now = world.loop.now();
    if (before != nullptr && before->instance) {
      routed_at_[{destination, before->instance->id}] = now;
    }
    if (cloud.router.down.contains(destination)) return;  // The cloud's own doing.
    if (after == nullptr) {
      EXPECT_FALSE(before->is_foreign) << "R1: a foreign route is gone";
      EXPECT_TRUE(options.plan.cluster_cidrs[0].contains(destination)) << "R1";
      for (const kube::ObjectKey& key : api.keys(kube::Node::resource)) {
        const std::optional<Pair> pair = of(key);
        const bool has_it = pair && pair->first == destination;
        EXPECT_FALSE(has_it && has_been_seen(text(key.name, "/metadata/uid")))
            << "R2: the route to " << to_string(destination) << " is gone, and " << key.name
            << " has it";
      }
      removals_.push_back(now);
      while (now - removals_.front() > kPass) removals_.pop_front();
      EXPECT_LE(removals_.size(), kRemovalsMax) << "R4";
      return;
    }
    routed_at_[{destination, after->instance->id}] = now;
    const bool moves = before != nullptr && before->instance != after->instance;
    for (const kube::ObjectKey& key : api.keys(kube::Node::resource)) {
      if (const std::optional<Pair> owned = of(key)) owned_at_[*owned] = now;
    }
    const Pair pair{destination, after->instance->id};
    EXPECT_TRUE(!moves || was_lately(owned_at_, pair) || asked_.contains(pair))
        << "R2: " << to_string(destination) << " moves to machine " << after->instance->id
        << ", whose Node has it no more";
  }

  void heal() {
    api.heal();
    api.latency = {};
    if (api.frozen) api.bookmark();
    api.frozen = false;
    cloud.faults = {};
    brakes = {};
    cloud.router.down.clear();
    cloud.route_tables.touched(table_name());
    if (api.keys(kube::Node::resource).empty()) add_node(0);  // Nobody believes in no Node at all.
  }

  void check_the_end() const {
    std::map<IpPrefix, std::pair<std::string, std::string>> holder;  // Age and name.
    for (const kube::ObjectKey& key : api.keys(kube::Node::resource)) {
      const std::pair age{text(key.name, "/metadata/creationTimestamp"), key.name};
      const IpPrefix destination = of(key)->first;
      const auto [place, is_first] = holder.emplace(destination, age);
      if (!is_first) place->second = std::min(place->second, age);
    }
    for (const kube::ObjectKey& key : api.keys(kube::Node::resource)) {
      const Pair pair = *of(key);
      if (pair.second.empty()) continue;
      const bool is_held = holder.at(pair.first).second == key.name && pair.first != foreign_;
      EXPECT_EQ(condition(std::stoi(key.name.substr(4))),
                is_held ? "False RouteCreated" : "True NoRouteCreated")
          << key.name << " with " << to_string(pair.first);
      if (is_held) EXPECT_EQ(routed(to_string(pair.first)), pair.second) << key.name;
    }
    for (const auto& [destination, route] : cloud.router.standing) {
      EXPECT_TRUE(destination == foreign_ || holder.contains(destination))
          << "L7: the route to " << to_string(destination) << " is nobody's";
    }
    EXPECT_TRUE(cloud.router.standing.at(foreign_).is_foreign);
  }

  SeededRandom chance_;
  const IpPrefix foreign_ = prefix(kCidrs - 1);
  std::map<Pair, Moment> owned_at_;      // When the API server last had it so.
  std::map<Pair, Moment> routed_at_;     // When packets last went so.
  std::set<Pair> asked_;                 // Of tables that stand, since it was right.
  std::map<std::string, Moment> since_;  // Nodes by uid: when they came.
  std::set<std::string> reached_;        // Nodes that were called reachable, by uid.
  std::deque<Moment> removals_;
};

TEST(route_chaos, does_no_harm_and_gets_there_in_the_end) { testing::live_through<Chaos>(kSeeds); }

}  // namespace
}  // namespace isthmus::controllers
