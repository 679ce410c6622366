// What we rely on the compiler for. Coroutine code is hard to translate: g++ 12 destroys
// temporaries twice, or never, in about a third of cases like these. Each title is something our
// code does every day; a new compiler is trusted once it passes them at every optimisation level
// and under the sanitizers.
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "isthmus/base/scope.h"
#include "isthmus/base/virtual_world.h"

namespace isthmus {
namespace {

// Knows its own address, so a bitwise copy shows, and counts, so a leak or a second destructor
// does.
class Tracked {
 public:
  explicit Tracked(int value) : value_(value), self_(this) { ++alive; }
  Tracked(const Tracked& other) : value_(other.get()), self_(this) { ++alive; }
  Tracked(Tracked&& other) noexcept : value_(other.get()), self_(this) { ++alive; }
  Tracked& operator=(const Tracked& other) {
    value_ = other.get();
    return *this;
  }
  ~Tracked() {
    static_cast<void>(get());
    self_ = nullptr;
    --alive;
  }
  int get() const {
    if (self_ != this) ++broken;
    return value_;
  }

  static inline int alive = 0;
  static inline int broken = 0;

 private:
  int value_;
  const Tracked* self_;
};

// Long enough to be on the heap, where the address sanitizer watches it.
const std::string kLong = "a text that is too long for the small string optimisation";

class CompilerFacts : public testing::Test {
 protected:
  void TearDown() override {
    EXPECT_EQ(Tracked::alive, 0);
    EXPECT_EQ(std::exchange(Tracked::broken, 0), 0);
  }
  VirtualWorld world;
};

Task<Result<>> pause() { co_return co_await yield(); }

Task<int> value_of(Tracked tracked) {
  Result<> paused = co_await pause();
  co_return paused ? tracked.get() : -1;
}
Task<int> referred_value(const Tracked& tracked) {
  Result<> paused = co_await pause();
  co_return paused ? tracked.get() : -1;
}

Task<int> temporaries_as_arguments() {
  const int by_value = co_await value_of(Tracked(1));
  const int by_reference = co_await referred_value(Tracked(20));
  co_return by_value + by_reference;
}

TEST_F(CompilerFacts, temporary_arguments_live_until_the_awaited_call_has_ended) {
  EXPECT_EQ(world.run(temporaries_as_arguments()), 21);
}

struct Options {
  Tracked first;
  std::string name;
  std::vector<std::string> list = {};
  int number = 0;
};

Task<std::size_t> weigh(Options options) {
  Result<> paused = co_await pause();
  EXPECT_TRUE(paused);
  co_return static_cast<std::size_t>(options.first.get()) + options.name.size() +
      options.list.size() + static_cast<std::size_t>(options.number);
}
Task<std::size_t> designated_aggregate() {
  const std::size_t weight =
      co_await weigh({.first = Tracked(1), .name = kLong, .list = {kLong, "x"}, .number = 3});
  co_return weight;
}

TEST_F(CompilerFacts, an_aggregate_built_in_the_call_is_moved_into_the_frame) {
  EXPECT_EQ(world.run(designated_aggregate()), 1 + kLong.size() + 2 + 3);
}

Task<int> conditional_temporaries(bool first) {
  const int chosen = co_await value_of(first ? Tracked(1) : Tracked(2));
  const Tracked kept = first ? Tracked(chosen) : Tracked(chosen * 10);
  Result<> paused = co_await pause();
  co_return paused ? kept.get() : -1;
}

TEST_F(CompilerFacts, of_a_conditional_only_the_chosen_temporary_exists) {
  EXPECT_EQ(world.run(conditional_temporaries(true)), 1);
  EXPECT_EQ(world.run(conditional_temporaries(false)), 20);
}

Task<std::size_t> size_with_default(int number, Tracked tracked = Tracked(5),
                                    std::string text = kLong) {
  Result<> paused = co_await pause();
  EXPECT_TRUE(paused);
  co_return static_cast<std::size_t>(number + tracked.get()) + text.size();
}
Task<std::size_t> default_arguments() {
  const std::size_t size = co_await size_with_default(1);
  co_return size;
}

TEST_F(CompilerFacts, default_arguments_are_kept_like_others) {
  EXPECT_EQ(world.run(default_arguments()), 6 + kLong.size());
}

Task<Result<Tracked>> tracked_result(bool works) {
  CO_TRY(co_await pause());
  if (!works) co_return fail(Outcome::lost, kLong);
  co_return Tracked(4);
}
Task<Result<int>> leaves_in_the_middle(bool works) {
  Tracked guard(1);
  std::map<std::string, Tracked> map;
  map.emplace(kLong, Tracked(2));
  const Tracked first = CO_TRY(co_await tracked_result(true));
  const Tracked second = CO_TRY(co_await tracked_result(works));
  co_return first.get() + second.get() + map.at(kLong).get() + guard.get();
}

TEST_F(CompilerFacts, leaving_through_co_try_destroys_exactly_what_was_built) {
  EXPECT_EQ(world.run(leaves_in_the_middle(true)), 11);
  EXPECT_EQ(world.run(leaves_in_the_middle(false)).error(), (Error{Outcome::lost, kLong, {}}));
}

Task<Result<std::unique_ptr<Tracked>>> boxed(bool works) {
  const Tracked tracked = CO_TRY(co_await tracked_result(works));
  co_return std::make_unique<Tracked>(tracked);
}
Task<Result<int>> unboxed(bool works) {
  const std::unique_ptr<Tracked> box = CO_TRY(co_await boxed(works));
  CO_TRY(co_await pause());
  co_return box->get();
}

TEST_F(CompilerFacts, a_pointer_that_owns_travels_through_results) {
  EXPECT_EQ(world.run(unboxed(true)), 4);
  EXPECT_EQ(world.run(unboxed(false)).outcome(), Outcome::lost);
}

Task<std::vector<Tracked>> three() {
  Result<> paused = co_await pause();
  EXPECT_TRUE(paused);
  std::vector<Tracked> values;
  for (int i = 1; i <= 3; ++i) values.emplace_back(i);
  co_return values;
}
Task<int> loop_with_awaits() {
  const std::vector<Tracked> values = co_await three();
  int sum = 0;
  for (const Tracked& value : values) {
    Tracked guard(1);
    const int seen = co_await value_of(value);
    if (seen == 2) continue;
    sum += seen * guard.get();
  }
  for (const std::string& text : {kLong, std::string("x")}) {
    Result<> paused = co_await pause();
    EXPECT_TRUE(paused);
    sum += text.empty() ? 100 : 10;
  }
  co_return sum;
}

TEST_F(CompilerFacts, a_range_survives_the_awaits_in_its_loop) {
  EXPECT_EQ(world.run(loop_with_awaits()), 24);
}

Task<std::pair<Tracked, std::string>> pair() {
  Result<> paused = co_await pause();
  EXPECT_TRUE(paused);
  co_return std::pair<Tracked, std::string>{Tracked(7), kLong};
}
Task<std::size_t> bind_pair() {
  const auto [tracked, text] = co_await pair();
  Result<> paused = co_await pause();
  EXPECT_TRUE(paused);
  co_return static_cast<std::size_t>(tracked.get()) + text.size();
}

TEST_F(CompilerFacts, structured_bindings_last_across_a_wait) {
  EXPECT_EQ(world.run(bind_pair()), 7 + kLong.size());
}

template <class T>
struct Keeper {
  T kept;
  Task<int> sum_with(T other) {
    Result<> paused = co_await pause();
    EXPECT_TRUE(paused);
    co_return kept.get() + other.get();
  }
};
Task<int> member_coroutine() {
  Keeper<Tracked> keeper{Tracked(3)};
  const int sum = co_await keeper.sum_with(Tracked(4));
  co_return sum;
}

TEST_F(CompilerFacts, member_coroutines_of_templates_keep_their_object_and_arguments) {
  EXPECT_EQ(world.run(member_coroutine()), 7);
}

Task<int> call(std::function<Task<int>(Tracked)> function) {
  const int answer = co_await function(Tracked(8));
  co_return answer;
}

TEST_F(CompilerFacts, a_coroutine_behind_a_function_object_keeps_its_arguments) {
  EXPECT_EQ(world.run(call([](Tracked tracked) -> Task<int> {
    const int value = co_await value_of(tracked);
    co_return value + tracked.get();
  })),
            16);
}

Task<Result<>> hold_many(Tracked argument, std::unique_ptr<Tracked> owned) {
  std::vector<Tracked> list{Tracked(1), Tracked(2)};
  const std::optional<Tracked> maybe = Tracked(3);
  Result<> slept = co_await sleep_for(std::chrono::hours(1));
  EXPECT_EQ(argument.get() + owned->get() + list[0].get() + maybe->get(), 0) << "never reached";
  co_return slept;
}

TEST_F(CompilerFacts, destroying_a_suspended_frame_destroys_arguments_and_locals_once) {
  {
    Scope scope(world.loop);
    scope.spawn(hold_many, Tracked(1), std::make_unique<Tracked>(2));
    world.settle();
    EXPECT_GE(Tracked::alive, 5);
  }
  EXPECT_EQ(Tracked::alive, 0);
}

TEST_F(CompilerFacts, a_task_that_never_ran_destroys_its_arguments_once) {
  {
    const Task<Result<>> task = hold_many(Tracked(1), std::make_unique<Tracked>(2));
  }
  EXPECT_EQ(Tracked::alive, 0);
}

}  // namespace
}  // namespace isthmus
