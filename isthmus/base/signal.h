// Signal: tells any number of waiting coroutines that something happened. Level-triggered: once
// set it stays set, so a waiter that comes late does not wait.
#pragma once

#include <coroutine>

#include "isthmus/base/result.h"
#include "isthmus/base/task.h"
#include "isthmus/base/waiter.h"

namespace isthmus {

// A resource with one owner, which outlives every wait.
class Signal {
 public:
  Signal() = default;
  Signal(const Signal&) = delete;
  Signal& operator=(const Signal&) = delete;

  // Resumes all who wait, in the order they came.
  void set();
  void clear() { set_ = false; }
  bool is_set() const { return set_; }

  // `CO_TRY(co_await signal.wait())`: ok once set; cancelled or deadline when the scope ends first.
  class Wait;
  Wait wait();

 private:
  bool set_ = false;
  WaitLine waiters_;
};

class Signal::Wait final : private Waiter {
 public:
  explicit Wait(Signal& signal) : signal_(signal) {}
  bool await_ready() const { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> self) {
    return start(*self.promise().context, self);
  }
  Result<> await_resume();

 private:
  friend class Signal;
  friend class WaitLine;
  bool start(Context& context, std::coroutine_handle<> self);

  Signal& signal_;
};

inline Signal::Wait Signal::wait() { return Wait(*this); }

// The same as a task, for with_deadline() and Scope::run(), which take tasks.
Task<Result<>> wait_for(Signal& signal);

}  // namespace isthmus
