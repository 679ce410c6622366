#include "isthmus/base/result.h"

#include <chrono>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "isthmus/base/scope.h"
#include "isthmus/base/virtual_world.h"

namespace isthmus {
namespace {

using namespace std::chrono_literals;

// Counts how many of it exist, to show that leaving early leaves nothing behind.
struct Tracked {
  Tracked() { ++alive; }
  Tracked(const Tracked&) { ++alive; }
  ~Tracked() { --alive; }
  static inline int alive = 0;
};

Result<std::string> answer(bool works) {
  if (works) return "a text that is long enough to be allocated on the heap";
  return fail(Outcome::busy, "not now", 3s);
}
Result<> act(bool works) {
  if (works) return {};
  return fail(Outcome::conflict, "changed");
}

Result<std::size_t> length(bool works) {
  Tracked guard;
  const std::string text = TRY(answer(works));
  TRY(act(works));
  return text.size();
}

TEST(result, try_is_the_value_when_there_is_one) {
  EXPECT_EQ(length(true), 54U);
  EXPECT_EQ(length(true).outcome(), Outcome::ok);
}

TEST(result, try_returns_the_whole_error_and_destroys_what_was_there) {
  const Result<std::size_t> failed = length(false);
  EXPECT_EQ(failed.outcome(), Outcome::busy);
  EXPECT_EQ(failed.error(), (Error{Outcome::busy, "not now", 3s}));
  EXPECT_EQ(Tracked::alive, 0);
}

Result<std::unique_ptr<int>> pointer() { return std::make_unique<int>(7); }
Result<int> pointed_at() {
  const std::unique_ptr<int> mine = TRY(pointer());
  return *mine;
}

TEST(result, try_moves_what_cannot_be_copied) { EXPECT_EQ(pointed_at(), 7); }

Result<std::pair<Tracked, Tracked>> two(bool second_works) {
  const auto make = [](bool works) -> Result<Tracked> {
    if (!works) return fail(Outcome::lost, "cut");
    return Tracked();
  };
  return std::pair<Tracked, Tracked>{TRY(make(true)), TRY(make(second_works))};
}

TEST(result, try_in_the_middle_of_an_expression_leaks_nothing) {
  EXPECT_TRUE(two(true));
  EXPECT_EQ(two(false).outcome(), Outcome::lost);
  EXPECT_EQ(Tracked::alive, 0);
}

TEST(result, words_can_be_put_in_front_of_an_error) {
  const Result<> failed = fail("reading /etc/x", Error{Outcome::busy, "not now", 3s});
  EXPECT_EQ(failed.error(), (Error{Outcome::busy, "reading /etc/x: not now", 3s}));
}

TEST(result, only_cancelled_and_deadline_are_our_own) {
  EXPECT_TRUE(is_our_own(Outcome::cancelled));
  EXPECT_TRUE(is_our_own(Outcome::deadline));
  EXPECT_FALSE(is_our_own(Outcome::lost));
  EXPECT_FALSE(is_our_own(Outcome::ok));
}

TEST(result, every_outcome_has_its_word) {
  EXPECT_EQ(to_string(Outcome::ok), "ok");
  EXPECT_EQ(to_string(Outcome::absent), "absent");
  EXPECT_EQ(to_string(Outcome::conflict), "conflict");
  EXPECT_EQ(to_string(Outcome::busy), "busy");
  EXPECT_EQ(to_string(Outcome::denied), "denied");
  EXPECT_EQ(to_string(Outcome::invalid), "invalid");
  EXPECT_EQ(to_string(Outcome::unsupported), "unsupported");
  EXPECT_EQ(to_string(Outcome::lost), "lost");
  EXPECT_EQ(to_string(Outcome::cancelled), "cancelled");
  EXPECT_EQ(to_string(Outcome::deadline), "deadline");
}

Task<Result<std::string>> answer_later(bool works) {
  Tracked guard;
  CO_TRY(co_await sleep_for(1s));
  co_return answer(works);
}
Task<Result<std::size_t>> length_later(bool works) {
  Tracked guard;
  const std::string text = CO_TRY(co_await answer_later(works));
  Tracked second_guard;
  CO_TRY(act(works));
  co_return text.size();
}

TEST(result, co_try_is_the_value_or_ends_the_coroutine) {
  VirtualWorld world;
  EXPECT_EQ(world.run(length_later(true)), 54U);
  EXPECT_EQ(world.run(length_later(false)).error(), (Error{Outcome::busy, "not now", 3s}));
  EXPECT_EQ(Tracked::alive, 0);
}

TEST(result_death, a_failed_assertion_says_where_and_why) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(ISTHMUS_ASSERT(1 + 1 == 3, "arithmetic still works"),
               "result_test.cc:[0-9]+: bug: arithmetic still works \\(1 \\+ 1 == 3 is false\\)");
}

}  // namespace
}  // namespace isthmus
