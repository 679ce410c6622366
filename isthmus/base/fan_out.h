// fan_out: the same operation on many items, a bounded number at a time, with an outcome for each.
//
//   std::vector<Result<>> outcomes = co_await fan_out(targets, 8, add_target, std::ref(client));
//
// Nothing is rolled back, and one failure leaves the other items alone: the caller sees what was
// achieved and decides.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "isthmus/base/scope.h"

namespace isthmus {
namespace detail {

template <class Item, class Answer, class Function, class... Arguments>
struct FanOut {
  std::vector<Item> items;
  Function function;
  std::tuple<Arguments...> arguments;
  std::vector<std::optional<Answer>> answers;
  std::size_t next = 0;
};

// Takes items until none is left, or the scope is over. Never fails, because a failure would cancel
// the other workers.
template <class State>
Task<Result<>> fan_out_worker(State& state) {
  Scope& scope = co_await current_scope();
  while (state.next < state.items.size() && !scope.is_cancelled()) {
    const std::size_t mine = state.next++;
    auto answer = co_await std::apply(
        [&state, mine](auto... arguments) {
          return std::invoke(state.function, std::move(state.items[mine]), std::move(arguments)...);
        },
        state.arguments);
    state.answers[mine].emplace(std::move(answer));
  }
  co_return Result<>{};
}

template <class Task>
struct AnswerOf;
template <class T>
struct AnswerOf<Task<T>> {
  using type = T;
};

}  // namespace detail

// Calls function(item, arguments…), a coroutine returning Task<Result<R>>, for each item and
// answers one Result<R> per item in the same order. Arguments are copied into every call; pass
// doors with std::ref. When the scope ends, calls under way fail as their waits do, and items that
// were not begun answer with the scope's reason; so the vector is always complete.
template <class Item, class Function, class... Arguments>
auto fan_out(std::vector<Item> items, std::size_t concurrency, Function function,
             Arguments... arguments)
    -> Task<std::vector<
        typename detail::AnswerOf<std::invoke_result_t<Function&, Item, Arguments...>>::type>> {
  using Answer =
      typename detail::AnswerOf<std::invoke_result_t<Function&, Item, Arguments...>>::type;
  ISTHMUS_ASSERT(concurrency > 0, "a fan-out needs at least one at a time");
  using State = detail::FanOut<Item, Answer, Function, Arguments...>;
  State state{std::move(items), std::move(function), {std::move(arguments)...}, {}, 0};
  state.answers.resize(state.items.size());

  Scope& outer = co_await current_scope();
  Scope scope(outer);
  for (std::size_t i = 0; i < concurrency && i < state.items.size(); ++i) {
    scope.spawn(detail::fan_out_worker<State>, std::ref(state));
  }
  Result<> joined = co_await scope.join();
  ISTHMUS_ASSERT(joined, "a worker of a fan-out does not fail");

  std::vector<Answer> answers;
  for (std::optional<Answer>& answer : state.answers) {
    if (answer) {
      answers.push_back(std::move(*answer));
    } else {
      answers.push_back(fail(scope.reason(), "not begun: its turn did not come in time"));
    }
  }
  co_return answers;
}

}  // namespace isthmus
