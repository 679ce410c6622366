// Task: a lazy coroutine with one owner.
//
// Calling a coroutine does nothing until the Task is awaited or given to a Scope (scope.h); a Task
// that is dropped was never run. Awaiting hands the awaiter's Context down, so every coroutine
// knows its loop and its scope without being told. Destroying a suspended Task is always safe: its
// locals are destroyed innermost first, and whatever it waited for forgets it.
//
// Errors travel in the value (Task<Result<T>>). An exception that leaves a coroutine is a bug and
// ends the process.
#pragma once

#include <coroutine>
#include <cstddef>
#include <exception>
#include <new>
#include <optional>
#include <utility>

namespace isthmus {

class Loop;
class Scope;

// Where a coroutine runs. Owned by the scope; outlives every coroutine that holds a pointer to it.
struct Context {
  Loop& loop;
  Scope& scope;
};

namespace detail {

// How many coroutine frames exist. A test that ends with more than it began with has leaked one.
inline std::size_t live_frames = 0;

struct PromiseBase {
  struct FinalAwaiter {
    bool await_ready() noexcept { return false; }
    template <class Promise>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> self) noexcept {
      return self.promise().continuation;
    }
    void await_resume() noexcept {}
  };

  static void* operator new(std::size_t bytes) {
    ++live_frames;
    return ::operator new(bytes);
  }
  static void operator delete(void* frame, std::size_t bytes) {
    --live_frames;
    ::operator delete(frame, bytes);
  }
  std::suspend_always initial_suspend() noexcept { return {}; }
  FinalAwaiter final_suspend() noexcept { return {}; }
  void unhandled_exception() noexcept { std::terminate(); }

  std::coroutine_handle<> continuation = std::noop_coroutine();
  Context* context = nullptr;
};

template <class T>
struct Promise;

}  // namespace detail

template <class T = void>
class [[nodiscard]] Task {
 public:
  using promise_type = detail::Promise<T>;

  explicit Task(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, {})) {}
  Task& operator=(Task&&) = delete;
  ~Task() {
    if (handle_) handle_.destroy();
  }

  class Awaiter {
   public:
    Awaiter(std::coroutine_handle<promise_type> handle, Context* context)
        : handle_(handle), context_(context) {}
    bool await_ready() noexcept { return false; }
    template <class Promise>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> caller) noexcept {
      handle_.promise().continuation = caller;
      handle_.promise().context = context_ ? context_ : caller.promise().context;
      return handle_;
    }
    T await_resume() { return handle_.promise().take(); }

   private:
    std::coroutine_handle<promise_type> handle_;
    Context* context_;
  };

  // Runs the task in the caller's context; the Task stays the owner until the full expression ends.
  Awaiter operator co_await() && noexcept { return Awaiter(handle_, nullptr); }

  // Runs it in another context: see Scope::run and Uncancellable.
  Awaiter in(Context& context) && noexcept { return Awaiter(handle_, &context); }

 private:
  std::coroutine_handle<promise_type> handle_;
};

namespace detail {

template <class T>
struct Promise : PromiseBase {
  Task<T> get_return_object() {
    return Task<T>(std::coroutine_handle<Promise>::from_promise(*this));
  }
  template <class U = T>
  void return_value(U&& returned) {
    value.emplace(std::forward<U>(returned));
  }
  T take() { return std::move(*value); }

  std::optional<T> value;
};

template <>
struct Promise<void> : PromiseBase {
  Task<void> get_return_object() {
    return Task<void>(std::coroutine_handle<Promise>::from_promise(*this));
  }
  void return_void() {}
  void take() {}
};

}  // namespace detail
}  // namespace isthmus
