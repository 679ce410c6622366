// The templates of scope.h; include that instead.
#pragma once

#include "isthmus/base/scope.h"

namespace isthmus {

// The frame that runs a child: it destroys itself when the child has ended, and is destroyed by the
// scope when the scope goes first.
struct Scope::Child {
  struct promise_type : detail::PromiseBase, ListNode {
    // The scope is the first argument of run_child.
    template <class... Arguments>
    explicit promise_type(Scope& owner, Arguments&...) : scope(owner) {
      context = &scope.context_;
      scope.children_.push_back(*this);
      ++scope.child_count_;
    }
    ~promise_type() {
      unlink();
      scope.child_gone();
    }
    Child get_return_object() {
      return {std::coroutine_handle<promise_type>::from_promise(*this), wakeup};
    }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}

    Scope& scope;
    Wakeup wakeup;
  };

  std::coroutine_handle<> handle;
  Wakeup& wakeup;
};

template <class Function, class... Arguments>
Scope::Child Scope::run_child(Scope& scope, Function function, Arguments... arguments) {
  Result<> result = co_await std::invoke(std::move(function), std::move(arguments)...);
  scope.child_answered(std::move(result));
}

template <class Function, class... Arguments>
void Scope::spawn(Function function, Arguments... arguments) {
  Child child = run_child(*this, std::move(function), std::move(arguments)...);
  start(child.handle, child.wakeup);
}

namespace detail {

template <class T>
Task<Result<>> keep_answer(Task<T> task, std::optional<T>& answer) {
  T value = co_await std::move(task);
  answer.emplace(std::move(value));
  co_return Result<>{};
}

}  // namespace detail

template <class T>
std::optional<T> run_to_end(Loop& loop, Task<T> task) {
  std::optional<T> answer;
  Scope root(loop);
  root.spawn(detail::keep_answer<T>, std::move(task), std::ref(answer));
  loop.run_until([&root] { return root.children() == 0; });
  return answer;
}

}  // namespace isthmus
