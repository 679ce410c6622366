// Scope: the owner of everything that runs. Nothing is detached: a coroutine is awaited, or it is
// the child of a scope, and a scope ends only when its children have ended.
//
//   Scope& here = co_await current_scope();
//   Scope scope(here);                          // ends no later than the scope we run in
//   scope.spawn(read_lines, std::ref(stream));  // function and arguments, owned by the child
//   scope.spawn(write_lines, std::ref(stream));
//   Result<> ended = co_await scope.join();     // ok, or the first child's error
//   co_return ended;
//
// Cancelling a scope resumes every wait inside it with `cancelled` (or `deadline`), and makes each
// later wait in it fail too, so a loop that ignores one error still ends. Cleanup is in
// destructors. A child that returns an error cancels its siblings.
#pragma once

#include <coroutine>
#include <cstddef>
#include <functional>
#include <optional>
#include <type_traits>
#include <utility>

#include "isthmus/base/clock.h"
#include "isthmus/base/intrusive_list.h"
#include "isthmus/base/loop.h"
#include "isthmus/base/result.h"
#include "isthmus/base/task.h"

namespace isthmus {

// The base of everything that truly suspends: a timer, a channel end, a socket operation.
//
// A leaf enters its scope when it suspends and leaves it when it finishes, is cancelled, or is
// destroyed. Its destructor must also take it out of whatever would have finished it.
class Leaf : private ListNode {
 public:
  Leaf() = default;

 protected:
  virtual ~Leaf() = default;

  // Registers with the scope. False when the scope is over already: do not suspend, outcome() says
  // why. Call it first in await_suspend, before looking at the source, so that a cancelled loop
  // over a source that is always ready ends as well.
  bool enter(Context& context, std::coroutine_handle<> handle);

  // Resumes the coroutine in the next turn. At most once, and only while suspended.
  void finish(Outcome outcome);

  // Records an outcome without suspending.
  void settle(Outcome outcome) {
    unlink();
    outcome_ = outcome;
  }
  Outcome outcome() const { return outcome_; }
  Loop& loop() { return *loop_; }

 private:
  friend class Scope;

  // The scope is over: stop waiting for the source, then finish(why). A source that cannot be
  // stopped at once (an operation the kernel holds) finishes later.
  virtual void cancelled(Outcome why) = 0;

  Loop* loop_ = nullptr;
  Wakeup wakeup_;
  Outcome outcome_ = Outcome::ok;
};

class Scope final : private ListNode, private Timer {
 public:
  explicit Scope(Loop& loop);     // A root. The loop outlives it.
  explicit Scope(Scope& parent);  // Cancelled with its parent, which outlives it.

  // Destroys children that have not ended, where they stand: that is how a test or a simulator
  // crashes a process. Orderly code joins first.
  ~Scope();

  // Starts function(arguments…), a coroutine returning Task<Result<>>, in the next turn. Both are
  // moved into the child and live as long as it does; pass doors with std::ref. In a cancelled
  // scope the child still runs, and fails at its first wait.
  template <class Function, class... Arguments>
  void spawn(Function function, Arguments... arguments);

  // Ends every wait inside with `why`, now and later. Only the first reason counts.
  void cancel(Outcome why = Outcome::cancelled);

  // Cancels with `deadline` at that moment; the earliest of several counts.
  void set_deadline(Moment at);

  bool is_cancelled() const { return reason_ != Outcome::ok; }
  Outcome reason() const { return reason_; }
  std::size_t children() const { return child_count_; }
  Loop& loop() { return context_.loop; }
  Context& context() { return context_; }

  // Awaited by the scope's owner, one at a time: waits until no child is left, whatever happens
  // to the caller meanwhile. Answers the first error of a child, else ok.
  class Join {
   public:
    explicit Join(Scope& scope) : scope_(scope) {}
    bool await_ready() const { return scope_.child_count_ == 0; }
    void await_suspend(std::coroutine_handle<> caller) {
      ISTHMUS_ASSERT(scope_.joiner_ == nullptr, "a scope is joined by its owner alone");
      scope_.joiner_ = &wakeup_;
      wakeup_.handle = caller;
    }
    Result<> await_resume() { return scope_.first_error_; }
    ~Join() {
      if (scope_.joiner_ == &wakeup_) scope_.joiner_ = nullptr;
    }

   private:
    Scope& scope_;
    Wakeup wakeup_;
  };
  Join join() { return Join(*this); }

  // Runs a task inside this scope and answers what it answers. The task must not outlive the scope:
  // a parameter of the caller's coroutine would, so it is moved into a local behind the scope
  // first.
  template <class T>
  Task<T>::Awaiter run(Task<T>&& task) {
    return std::move(task).in(context_);
  }

 private:
  friend class Leaf;
  struct Child;

  template <class Function, class... Arguments>
  static Child run_child(Scope& scope, Function function, Arguments... arguments);
  void start(std::coroutine_handle<> handle, Wakeup& wakeup);
  void child_answered(Result<> result);
  void child_gone();
  void expired() override;

  Context context_;
  Outcome reason_ = Outcome::ok;
  std::optional<Moment> deadline_;
  ListNode leaves_;
  ListNode inner_scopes_;
  ListNode children_;
  std::size_t child_count_ = 0;
  Wakeup* joiner_ = nullptr;
  Result<> first_error_;
};

// A parameter of this type says at the call site: this work finishes even when the caller's scope
// is cancelled, because it waits in the named scope, which outlives the caller. The caller does not
// return before the work has ended, so give the scope a deadline.
class Uncancellable {
 public:
  explicit Uncancellable(Scope& outliving) : scope_(outliving) {}

  template <class T>
  Task<T>::Awaiter run(Task<T>&& task) const {
    return scope_.run(std::move(task));
  }

 private:
  Scope& scope_;
};

// `Scope& scope = co_await current_scope();` never suspends.
class CurrentScope {
 public:
  bool await_ready() const { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> self) {
    scope_ = &self.promise().context->scope;
    return false;
  }
  Scope& await_resume() const { return *scope_; }

 private:
  Scope* scope_ = nullptr;
};
inline CurrentScope current_scope() { return {}; }

// `CO_TRY(co_await sleep_for(d))`: ok after the time, else why it was cut short. Zero or less
// resumes in the next turn.
class Sleep final : private Leaf, private Timer {
 public:
  explicit Sleep(Duration duration) : duration_(duration) {}
  explicit Sleep(Moment until) : until_(until) {}
  ~Sleep() override {
    if (armed()) loop().disarm(*this);
  }
  bool await_ready() const { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> self) {
    return start(*self.promise().context, self);
  }
  Result<> await_resume();

 private:
  bool start(Context& context, std::coroutine_handle<> self);
  void expired() override { finish(Outcome::ok); }
  void cancelled(Outcome why) override;

  Duration duration_{};
  std::optional<Moment> until_;
};
inline Sleep sleep_for(Duration duration) { return Sleep(duration); }
inline Sleep sleep_until(Moment until) { return Sleep(until); }

// Lets everything else that is ready run first.
inline Sleep yield() { return Sleep(Duration::zero()); }

// Runs a task in a scope of its own that ends at the deadline: the task's waits then fail with
// `deadline`, the task ends, and its answer is passed on. A task that succeeds late succeeds.
template <class T>
Task<Result<T>> with_deadline(Moment deadline, Task<Result<T>> task) {
  Scope& outer = co_await current_scope();
  Scope scope(outer);
  scope.set_deadline(deadline);
  // A frame's parameters outlive its locals, and what waits in a scope must not.
  Task<Result<T>> inner = std::move(task);
  Result<T> result = co_await scope.run(std::move(inner));
  co_return result;
}
template <class T>
Task<Result<T>> with_timeout(Duration timeout, Task<Result<T>> task) {
  Scope& outer = co_await current_scope();
  Result<T> result = co_await with_deadline(later(outer.loop().now(), timeout), std::move(task));
  co_return result;
}

// Runs the loop until the task has ended, in a root scope of its own, and answers what it
// answered; nullopt when the driver ran out of things that could happen first (a deadlock).
template <class T>
std::optional<T> run_to_end(Loop& loop, Task<T> task);

}  // namespace isthmus

#include "isthmus/base/scope_impl.h"
