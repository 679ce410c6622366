// The work queue against a model: random operations from a seed, and after each of them the queue
// must be where the model, which is written for clarity rather than speed, says it is.
#include <algorithm>
#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "isthmus/base/virtual_world.h"
#include "isthmus/base/work_queue.h"

namespace isthmus {
namespace {

using namespace std::chrono_literals;

struct Model {
  struct Delay {
    Moment due;
    std::uint64_t sequence;  // Of the arming: ties fire in that order.
    Priority priority;
  };

  void add(const std::string& key, Priority priority) {
    if (shut_down) return;
    if (!dirty.contains(key)) {
      dirty[key] = priority;
      if (!held.contains(key)) line(priority).push_back(key);
    } else if (priority > dirty[key]) {
      dirty[key] = priority;
      if (std::erase(resync, key) > 0) fresh.push_back(key);
    }
  }

  void add_after(const std::string& key, Moment now, Duration delay, Priority priority) {
    if (shut_down) return;
    if (delay <= 0s) return add(key, priority);
    const auto found = delays.find(key);
    if (found == delays.end()) {
      delays[key] = {now + delay, ++sequence, priority};
      return;
    }
    found->second.priority = std::max(found->second.priority, priority);
    if (now + delay < found->second.due) {
      found->second.due = now + delay;
      found->second.sequence = ++sequence;
    }
  }

  void time_is(Moment now) {
    for (;;) {
      const auto first = std::ranges::min_element(delays, {}, [](const auto& entry) {
        return std::pair(entry.second.due, entry.second.sequence);
      });
      if (first == delays.end() || first->second.due > now) return;
      const auto [key, delay] = *first;
      delays.erase(first);
      add(key, delay.priority);
    }
  }

  std::optional<std::string> get() {
    const bool resync_turn = fresh.empty() || (!resync.empty() && in_a_row == 32);
    std::deque<std::string>& from = resync_turn ? resync : fresh;
    if (from.empty()) return std::nullopt;
    in_a_row = resync_turn || resync.empty() ? 0 : in_a_row + 1;
    std::string key = from.front();
    from.pop_front();
    held[key] = dirty[key];
    dirty.erase(key);
    return key;
  }

  void done(const std::string& key) {
    held.erase(key);
    if (dirty.contains(key)) line(dirty[key]).push_back(key);
  }

  std::deque<std::string>& line(Priority p) { return p == Priority::fresh ? fresh : resync; }

  std::deque<std::string> fresh, resync;
  std::map<std::string, Priority> dirty, held;
  std::map<std::string, Delay> delays;
  std::uint64_t sequence = 0;
  unsigned in_a_row = 0;
  bool shut_down = false;
};

Task<Result<>> get_into(WorkQueue& queue, std::optional<Result<std::string>>& got) {
  Result<std::string> key = co_await queue.get();
  got.emplace(std::move(key));
  co_return Result<>{};
}

class Comparison {
 public:
  explicit Comparison(std::uint64_t seed) : random_(seed) {}

  void step() {
    const std::string key(1, static_cast<char>('a' + random_.below(8)));
    const auto priority = random_.below(2) == 0 ? Priority::fresh : Priority::resync;
    switch (random_.below(8)) {
      case 0:
      case 1:
        queue_.add(key, priority);
        model_.add(key, priority);
        break;
      case 2: {
        const Duration delay = std::chrono::seconds(random_.below(6));
        queue_.add_after(key, delay, priority);
        model_.add_after(key, world_.loop.now(), delay, priority);
        break;
      }
      case 3: {
        const auto held = model_.held.find(key);
        const Priority kept = held == model_.held.end() ? Priority::fresh : held->second;
        const Duration delay = queue_.add_rate_limited(key);
        model_.add_after(key, world_.loop.now(), delay, kept);
        break;
      }
      case 4:
        world_.advance(std::chrono::seconds(random_.below(4)));
        model_.time_is(world_.loop.now());
        break;
      case 5:
      case 6:
        get();
        break;
      case 7:
        if (model_.held.contains(key)) {
          if (random_.below(2) == 0) queue_.forget(key);
          queue_.done(key);
          model_.done(key);
        }
        break;
    }
    EXPECT_EQ(queue_.depth(), model_.dirty.size());
    EXPECT_EQ(queue_.held(), model_.held.size());
  }

  // Everything that waits comes out in the model's order, and then the queue is drained.
  void finish() {
    queue_.shut_down();
    model_.shut_down = true;
    while (!model_.held.empty() || !model_.dirty.empty()) {
      while (!model_.held.empty()) {
        const std::string key = model_.held.begin()->first;
        queue_.done(key);
        model_.done(key);
      }
      get();
    }
    world_.advance(1h);
    EXPECT_EQ(queue_.depth(), 0U);
    EXPECT_EQ(get().value().outcome(), Outcome::cancelled);
  }

 private:
  std::optional<Result<std::string>> get() {
    std::optional<Result<std::string>> got;
    Scope scope(world_.loop);
    scope.spawn(get_into, std::ref(queue_), std::ref(got));
    world_.settle();
    const std::optional<std::string> expected = model_.get();
    EXPECT_EQ(got && *got ? **got : "", expected.value_or(""));
    return got;
  }

  VirtualWorld world_;
  SeededRandom random_;
  Metrics metrics_;
  SeededRandom jitter_{1};
  WorkQueue queue_{world_.loop, jitter_, metrics_, {.name = "model"}};
  Model model_;
};

TEST(work_queue_model, agrees_with_the_queue_after_every_step) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Comparison run(seed);
    for (int i = 0; i < 300 && !testing::Test::HasFailure(); ++i) run.step();
    if (!testing::Test::HasFailure()) run.finish();
    ASSERT_FALSE(testing::Test::HasFailure());
  }
}

// Workers that work, fail, crash and are replaced: no key is ever held twice, and none is lost.
struct Floor {
  VirtualWorld& world;
  WorkQueue& queue;
  Random& random;
  std::map<std::string, int> dirty_version;  // What was last asked for.
  std::map<std::string, int> seen_version;   // What a finished run had seen.
  std::set<std::string> held;
};

Task<Result<>> worker(Floor& floor) {
  for (;;) {
    const std::string key = CO_TRY(co_await floor.queue.get());
    EXPECT_TRUE(floor.held.insert(key).second) << key << " is held twice";
    const int version = floor.dirty_version[key];
    CO_TRY(co_await sleep_for(floor.random.between(0ms, 50ms)));
    if (floor.random.below(3) == 0) {
      floor.queue.add_rate_limited(key);
    } else {
      floor.seen_version[key] = version;
      floor.queue.forget(key);
    }
    floor.held.erase(key);
    floor.queue.done(key);
  }
}

TEST(work_queue_model, workers_never_share_a_key_and_every_change_is_seen_in_the_end) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    VirtualWorld world;
    SeededRandom random(seed);
    Metrics metrics;
    WorkQueue queue(world.loop, random, metrics, {.name = "floor"});
    Floor floor{world, queue, random, {}, {}, {}};
    Scope scope(world.loop);
    for (int i = 0; i < 4; ++i) scope.spawn(worker, std::ref(floor));
    for (int i = 0; i < 200; ++i) {
      const std::string key(1, static_cast<char>('a' + random.below(10)));
      ++floor.dirty_version[key];
      queue.add(key, random.below(2) == 0 ? Priority::fresh : Priority::resync);
      world.advance(random.between(0ms, 20ms));
    }
    world.advance(1h);
    EXPECT_EQ(floor.seen_version, floor.dirty_version);
    queue.shut_down();
    world.settle();
    EXPECT_EQ(scope.children(), 0U);
  }
}

}  // namespace
}  // namespace isthmus
