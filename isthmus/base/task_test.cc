#include "isthmus/base/task.h"

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "isthmus/base/scope.h"
#include "isthmus/base/virtual_world.h"

namespace isthmus {
namespace {

using namespace std::chrono_literals;

// Writes into a log when it is destroyed.
struct Farewell {
  Farewell(std::vector<std::string>& log_, std::string name_)
      : log(&log_), name(std::move(name_)) {}
  Farewell(Farewell&& other) noexcept : log(std::exchange(other.log, nullptr)), name(other.name) {}
  Farewell& operator=(Farewell&&) = delete;
  ~Farewell() {
    if (log != nullptr) log->push_back(name);
  }
  std::vector<std::string>* log;
  std::string name;
};

Task<int> set_and_answer(bool& ran, int answer) {
  ran = true;
  co_return answer;
}

TEST(task, does_nothing_until_it_is_awaited) {
  VirtualWorld world;
  bool ran = false;
  Task<int> task = set_and_answer(ran, 7);
  EXPECT_FALSE(ran);
  EXPECT_EQ(world.run(std::move(task)), 7);
  EXPECT_TRUE(ran);
}

Task<int> keep(Farewell, bool& ran) {
  ran = true;
  co_return 0;
}

TEST(task, one_that_is_dropped_never_ran_and_lets_its_arguments_go) {
  const std::size_t before = detail::live_frames;
  std::vector<std::string> log;
  bool ran = false;
  {
    Task<int> task = keep(Farewell(log, "argument"), ran);
  }
  EXPECT_FALSE(ran);
  EXPECT_EQ(log, (std::vector<std::string>{"argument"}));
  EXPECT_EQ(detail::live_frames, before);
}

Task<std::unique_ptr<int>> make_pointer(int value) { co_return std::make_unique<int>(value); }
Task<int> read_pointer() {
  const std::unique_ptr<int> pointer = co_await make_pointer(5);
  co_return *pointer;
}

TEST(task, answers_what_can_only_be_moved) {
  VirtualWorld world;
  EXPECT_EQ(world.run(read_pointer()), 5);
}

Task<> append(std::string& text, char c) {
  text += c;
  co_return;
}
Task<std::string> append_two() {
  std::string text;
  co_await append(text, 'a');
  co_await append(text, 'b');
  co_return text;
}

TEST(task, may_answer_nothing) {
  VirtualWorld world;
  EXPECT_EQ(world.run(append_two()), "ab");
}

Task<Result<>> hold(Farewell argument, std::string name, std::vector<std::string>& log, int depth) {
  Farewell local(log, name + std::to_string(depth));
  if (depth == 0) {
    CO_TRY(co_await sleep_for(1h));
  } else {
    CO_TRY(
        co_await hold(Farewell(log, "argument" + std::to_string(depth - 1)), name, log, depth - 1));
  }
  co_return Result<>{};
}

TEST(task, destroying_a_suspended_one_destroys_locals_innermost_first) {
  VirtualWorld world;
  std::vector<std::string> log;
  {
    Scope scope(world.loop);
    scope.spawn(hold, Farewell(log, "argument2"), std::string("local"), std::ref(log), 2);
    world.settle();
    EXPECT_TRUE(log.empty());
  }
  EXPECT_EQ(log, (std::vector<std::string>{"local0", "argument0", "local1", "argument1", "local2",
                                           "argument2"}));
}

Task<int> parity(int number) { co_return number % 2; }
Task<int> count_odd_below(int bound) {
  int count = 0;
  for (int i = 0; i < bound; ++i) {
    const int odd = co_await parity(i);
    count += odd;
  }
  co_return count;
}

TEST(task, a_long_row_of_awaits_needs_no_stack) {
  VirtualWorld world;
  EXPECT_EQ(world.run(count_odd_below(300'000)), 150'000);
}

Task<int> depth(int levels) {
  if (levels == 0) co_return 0;
  const int below = co_await depth(levels - 1);
  co_return below + 1;
}

TEST(task, a_deep_chain_of_awaits_needs_no_stack_either) {
  VirtualWorld world;
  EXPECT_EQ(world.run(depth(50'000)), 50'000);
}

Task<Result<>> throws() {
  throw 1;
  co_return Result<>{};
}

TEST(task_death, an_exception_that_leaves_a_coroutine_ends_the_process) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  VirtualWorld world;
  EXPECT_DEATH(static_cast<void>(world.run(throws())), "");
}

}  // namespace
}  // namespace isthmus
