// A watcher against a server that does everything wrong at once, by seed: whatever happened, once
// it is over the store shows exactly what the server has, and no difference was published twice.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "isthmus/base/virtual_world.h"
#include "isthmus/kube/testing/fake_api.h"
#include "isthmus/kube/watcher.h"

namespace isthmus::kube {
namespace {

using namespace std::chrono_literals;
using testing::FakeApi;
using testing::Verb;

class Chaos {
 public:
  explicit Chaos(std::uint64_t seed) : random(seed) {
    store.subscribe([this](const Difference<Node>& news) { follow(news); });
    scope.spawn(&Watcher::run, &watcher);
  }

  Task<Result<>> rage() {
    for (int step = 0; step < 150; ++step) {
      happen();
      CO_TRY(co_await sleep_for(random.between(0ms, random.below(10) == 0 ? 100s : 900ms)));
    }
    api.heal();
    api.frozen = api.withholds_initial_end = false;
    api.latency = 0ms;
    CO_TRY(co_await sleep_for(5min));
    co_return Result<>{};
  }

  // What a subscriber believes from the differences alone must be what the store says.
  void follow(const Difference<Node>& news) {
    auto& known = believed[news.key];
    EXPECT_EQ(known, news.before) << "a difference to something never published";
    known = news.after;
    if (!known) believed.erase(news.key);
  }

  void expect_truth() {
    std::map<ObjectKey, std::string> has, shows;
    for (const ObjectKey& key : api.keys(Node::resource)) {
      has[key] = api.see(Node::resource, key).at_pointer("/metadata/resourceVersion").as_string();
    }
    for (const auto& [key, node] : store.all()) shows[key] = node->meta.resource_version;
    EXPECT_EQ(shows, has);
    EXPECT_EQ(believed.size(), store.all().size());
  }

 private:
  void happen() {
    const std::string name = fmt::format("n{}", random.below(8));
    const bool is_there = !api.see(Node::resource, {"", name}).is_null();
    switch (random.below(14)) {
      case 0:
        return api.break_watches();
      case 1:
        return api.end_watches();
      case 2:
        return api.compact();
      case 3:
        return api.refuse_watches(random.below(2) ? 410 : 429, random.below(2) ? "Expired" : "x");
      case 4:
        return api.say(R"({"type":"ADDED","object":{"metadata":)");
      case 5:
        return api.bookmark();
      case 6:
        api.can_stream_lists = random.below(2);
        api.withholds_initial_end = random.below(4) == 0;
        api.page_max = random.below(4);
        return;
      case 7:
        api.frozen = !api.frozen;
        return;
      case 8:
        return api.inject({.verb = random.below(2) ? Verb::watch : Verb::list,
                           .error = {static_cast<Outcome>(1 + random.below(7)), "chaos"},
                           .hang = random.below(5) == 0,
                           .times = static_cast<int>(1 + random.below(3))});
      case 9:
        api.latency = random.between(0ms, 2s);
        return;
      default:
        if (is_there && random.below(3) == 0) return api.erase(Node::resource, {"", name});
        api.put(Node::resource,
                fmt::format(R"({{"metadata": {{"name": "{}", "labels": {{"v": "{}"}}}}}})", name,
                            random.below(1000)));
    }
  }

 public:
  SeededRandom random;
  VirtualWorld world;
  FakeApi api{world.loop};
  Metrics metrics;
  NullLogger log;
  Store<Node> store;
  StoreSink<Node> sink{store};
  std::map<ObjectKey, Snapshot<Node>> believed;
  Watcher watcher{api, Node::resource, sink, world.loop, random, metrics, log};
  Scope scope{world.loop};
};

TEST(watcher_chaos, the_store_is_true_again_whatever_the_server_did) {
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Chaos chaos(seed);
    EXPECT_TRUE(chaos.world.run(chaos.rage()));
    chaos.expect_truth();
    if (::testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace isthmus::kube
