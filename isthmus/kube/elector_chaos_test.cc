// Three managers that crash, stop, hang and lose answers, by seed: there are never two that may
// write at the same moment, and when all is well again, one leads.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>

#include "isthmus/base/virtual_world.h"
#include "isthmus/kube/elector.h"
#include "isthmus/kube/testing/fake_api.h"

namespace isthmus::kube {
namespace {

using namespace std::chrono_literals;
using testing::FakeApi;
using testing::Verb;

struct Silence final : Recorder {
  void record(Note) override {}
};

class Manager final : public Leader {
 public:
  Manager(VirtualWorld& world, ApiDoor& api, const std::string& identity, std::uint64_t seed)
      : random_(seed),
        life(world.loop),
        elector_(api, {.lease = {"kube-system", "ccm"}, .identity = identity}, life, world.loop,
                 random_, silence_, metrics_, log_),
        outliving_(world.loop),
        scope_(world.loop) {
    scope_.spawn(&Manager::compete, this);
  }
  Task<Result<>> lead() override {
    Result<> stopped = co_await stop.wait();
    co_return stopped;
  }
  void cancel() { scope_.cancel(); }

  bool has_ended = false;
  Signal stop;

 private:
  Task<Result<>> compete() {
    Result<> ended = co_await elector_.run(*this, Uncancellable(outliving_));
    has_ended = true;
    co_return Result<>{};
  }

  SeededRandom random_;
  Silence silence_;
  Metrics metrics_;
  NullLogger log_;

 public:
  LeaseLife life;

 private:
  Elector elector_;
  Scope outliving_;
  Scope scope_;
};

class Chaos {
 public:
  explicit Chaos(std::uint64_t seed) : random(seed) {}

  Task<Result<>> rage() {
    for (int step = 0; step < 200; ++step) {
      happen();
      const Moment next = world.loop.now() + random.between(0ms, 6s);
      while (world.loop.now() < next) CO_TRY(co_await look_for(50ms));
    }
    api.heal();
    api.frozen = false;
    api.latency = 0ms;
    for (int second = 0; second < 60; ++second) CO_TRY(co_await look_for(1s));
    co_return Result<>{};
  }

  int leaders() const {
    int sum = 0;
    for (const auto& manager : managers) sum += manager && manager->life.holds();
    return sum;
  }

 private:
  // Every process that ended is started again, as Kubernetes would.
  Task<Result<>> look_for(Duration time) {
    for (std::size_t i = 0; i < managers.size(); ++i) {
      if (managers[i] && !managers[i]->has_ended) continue;
      const std::string identity = fmt::format("manager-{}-{}", i, ++incarnations);
      managers[i].reset();
      managers[i] = std::make_unique<Manager>(world, api, identity, random.next());
    }
    EXPECT_LE(leaders(), 1);
    CO_TRY(co_await sleep_for(time));
    co_return Result<>{};
  }

  void happen() {
    auto& manager = managers[random.below(managers.size())];
    switch (random.below(8)) {
      case 0:
        return manager.reset();  // A crash: not another word from it.
      case 1:
        if (manager) manager->stop.set();
        return;
      case 2:
        if (manager) manager->cancel();
        return;
      case 3:
        return api.break_watches();
      case 4:
        api.frozen = !api.frozen;
        return;
      case 5:
        api.latency = random.between(0ms, 4s);
        return;
      default: {
        constexpr std::array kVerbs = {Verb::get, Verb::patch, Verb::watch, Verb::create};
        return api.inject({.verb = kVerbs[random.below(kVerbs.size())],
                           .error = {static_cast<Outcome>(2 + random.below(6)), "chaos"},
                           .after_effect = random.below(2) == 0,
                           .hang = random.below(4) == 0,
                           .times = static_cast<int>(1 + random.below(6))});
      }
    }
  }

 public:
  SeededRandom random;
  VirtualWorld world;
  FakeApi api{world.loop};
  std::array<std::unique_ptr<Manager>, 3> managers;
  int incarnations = 0;
};

TEST(elector_chaos, never_two_may_write_and_in_the_end_one_leads) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Chaos chaos(seed);
    EXPECT_TRUE(chaos.world.run(chaos.rage()));
    EXPECT_EQ(chaos.leaders(), 1);
    if (::testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace isthmus::kube
