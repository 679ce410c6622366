#include "isthmus/base/signal.h"

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "isthmus/base/virtual_world.h"

namespace isthmus {
namespace {

using namespace std::chrono_literals;

Task<Result<>> wait_and_write(Signal& signal, std::string& text, char name) {
  Result<> waited = co_await signal.wait();
  text += waited ? name : '-';
  co_return Result<>{};
}

Task<Result<>> set_after(Signal& signal, Duration duration) {
  CO_TRY(co_await sleep_for(duration));
  signal.set();
  co_return Result<>{};
}

TEST(signal, resumes_all_who_wait_in_the_order_they_came) {
  VirtualWorld world;
  Signal signal;
  std::string text;
  Scope scope(world.loop);
  for (const char name : {'a', 'b', 'c'}) {
    scope.spawn(wait_and_write, std::ref(signal), std::ref(text), name);
  }
  scope.spawn(set_after, std::ref(signal), 5s);
  world.loop.run_until([&scope] { return scope.children() == 0; });
  EXPECT_EQ(text, "abc");
  EXPECT_EQ(world.elapsed(), 5s);
}

TEST(signal, whoever_comes_late_does_not_wait_until_it_is_cleared) {
  VirtualWorld world;
  Signal signal;
  signal.set();
  EXPECT_TRUE(world.run(wait_for(signal)));
  EXPECT_EQ(world.elapsed(), 0s);
  signal.clear();
  EXPECT_EQ(world.run(with_timeout(1s, wait_for(signal))).outcome(), Outcome::deadline);
}

TEST(signal, a_set_signal_does_not_hide_that_the_scope_is_over) {
  VirtualWorld world;
  Signal signal;
  signal.set();
  std::string text;
  Scope scope(world.loop);
  scope.cancel();
  scope.spawn(wait_and_write, std::ref(signal), std::ref(text), 'a');
  world.loop.run_until([&scope] { return scope.children() == 0; });
  EXPECT_EQ(text, "-");
}

TEST(signal, a_waiter_that_is_cancelled_or_destroyed_is_forgotten) {
  VirtualWorld world;
  Signal signal;
  std::string text;
  auto destroyed = std::make_unique<Scope>(world.loop);
  Scope cancelled(world.loop), patient(world.loop);
  destroyed->spawn(wait_and_write, std::ref(signal), std::ref(text), 'd');
  cancelled.spawn(wait_and_write, std::ref(signal), std::ref(text), 'c');
  patient.spawn(wait_and_write, std::ref(signal), std::ref(text), 'p');
  world.settle();
  destroyed.reset();
  cancelled.cancel();
  signal.set();
  world.loop.run_until([&] { return cancelled.children() + patient.children() == 0; });
  EXPECT_EQ(text, "-p");
}

TEST(signal, a_waiter_may_be_destroyed_between_the_signal_and_its_turn) {
  VirtualWorld world;
  Signal signal;
  std::string text;
  {
    Scope scope(world.loop);
    scope.spawn(wait_and_write, std::ref(signal), std::ref(text), 'a');
    world.settle();
    signal.set();
  }
  EXPECT_FALSE(world.loop.run_until([] { return false; }));
  EXPECT_EQ(text, "");
}

}  // namespace
}  // namespace isthmus
