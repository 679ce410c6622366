// Awaiting asio operations from our tasks: a completion token that makes a Leaf of any operation
// whose handler takes an error_code and at most one value.
//
//   std::size_t bytes = CO_TRY(co_await socket.async_read_some(buffer, hold(shared_from_this())));
//
// The reactor holds an operation until its handler has run, which is later than cancellation and
// may be later than the life of the frame that waits. So everything an operation touches (socket,
// buffers, TLS engine) belongs to an object that the token holds, never to the waiting frame.
#pragma once

#include <boost/asio/async_result.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/error.hpp>
#include <coroutine>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "isthmus/base/result.h"
#include "isthmus/base/scope.h"

namespace isthmus::net {

// The completion token. The pointer is let go when the reactor has let go of the operation.
struct Hold {
  std::shared_ptr<void> what_is_used;
};
inline Hold hold(std::shared_ptr<void> what_is_used) { return {std::move(what_is_used)}; }

inline std::unexpected<Error> fail(const boost::system::error_code& error) {
  return isthmus::fail(Outcome::lost, error.message());
}

namespace detail {

template <class Value>
class AsioWait;

// Shared by the waiting frame and the handler inside the reactor; either may go first.
template <class Value>
struct AsioOperation {
  std::shared_ptr<void> what_is_used;
  boost::asio::cancellation_signal stop;
  AsioWait<Value>* wait = nullptr;  // Null once nobody waits any more.
};

template <class Value>
class AsioWait : private Leaf {
 public:
  bool await_ready() const { return false; }

  // ok, or lost with what the system says, or why the scope ended. An operation that succeeded
  // while it was being cancelled has succeeded.
  Result<Value> await_resume() {
    if (outcome() != Outcome::ok) return isthmus::fail(outcome(), "waiting was cut short");
    if (error_) return net::fail(error_);
    if constexpr (std::is_void_v<Value>) {
      return {};
    } else {
      return std::move(*value_);
    }
  }

 protected:
  explicit AsioWait(std::shared_ptr<void> what_is_used)
      : operation_(std::make_shared<AsioOperation<Value>>()) {
    operation_->what_is_used = std::move(what_is_used);
  }
  AsioWait(AsioWait&&) = delete;
  ~AsioWait() override {
    if (operation_->wait == nullptr) return;
    operation_->wait = nullptr;
    operation_->stop.emit(boost::asio::cancellation_type::all);
  }

  // What asio calls when the operation has ended.
  class Handler {
   public:
    explicit Handler(std::shared_ptr<AsioOperation<Value>> operation)
        : operation_(std::move(operation)) {}
    using cancellation_slot_type = boost::asio::cancellation_slot;
    cancellation_slot_type get_cancellation_slot() const noexcept {
      return operation_->stop.slot();
    }
    template <class... Values>
    void operator()(boost::system::error_code error, Values&&... values) {
      AsioWait* wait = std::exchange(operation_->wait, nullptr);
      if (wait != nullptr) wait->ended(error, std::forward<Values>(values)...);
    }

   private:
    std::shared_ptr<AsioOperation<Value>> operation_;
  };

  // False: the scope is over, and nothing is to be started.
  bool begin(Context& context, std::coroutine_handle<> self) {
    if (!enter(context, self)) return false;
    operation_->wait = this;
    return true;
  }
  Handler handler() { return Handler(operation_); }

 private:
  void cancelled(Outcome why) override {
    why_ = why;
    operation_->stop.emit(boost::asio::cancellation_type::all);
  }

  template <class... Values>
  void ended(boost::system::error_code error, Values&&... values) {
    error_ = error;
    if constexpr (sizeof...(Values) == 1) value_.emplace(std::forward<Values>(values)...);
    finish(error_ && why_ != Outcome::ok ? why_ : Outcome::ok);
  }

  using Stored = std::conditional_t<std::is_void_v<Value>, bool, Value>;
  std::shared_ptr<AsioOperation<Value>> operation_;
  Outcome why_ = Outcome::ok;
  boost::system::error_code error_;
  std::optional<Stored> value_;
};

// The awaitable itself: knows how to start the operation.
template <class Value, class Initiation, class... Arguments>
class AsioAwait final : public AsioWait<Value> {
 public:
  AsioAwait(Hold token, Initiation initiation, Arguments... arguments)
      : AsioWait<Value>(std::move(token.what_is_used)),
        initiation_(std::move(initiation)),
        arguments_(std::move(arguments)...) {}

  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> self) {
    if (!this->begin(*self.promise().context, self)) return false;
    std::apply(
        [this](Arguments&... arguments) {
          std::move(initiation_)(this->handler(), std::move(arguments)...);
        },
        arguments_);
    return true;
  }

 private:
  Initiation initiation_;
  std::tuple<Arguments...> arguments_;
};

template <class Value>
struct AsioResult {
  template <class Initiation, class... Arguments>
  static auto initiate(Initiation&& initiation, Hold token, Arguments&&... arguments) {
    return AsioAwait<Value, std::decay_t<Initiation>, std::decay_t<Arguments>...>(
        std::move(token), std::forward<Initiation>(initiation),
        std::forward<Arguments>(arguments)...);
  }
};

}  // namespace detail
}  // namespace isthmus::net

template <>
class boost::asio::async_result<isthmus::net::Hold, void(boost::system::error_code)>
    : public isthmus::net::detail::AsioResult<void> {};

template <class Value>
class boost::asio::async_result<isthmus::net::Hold, void(boost::system::error_code, Value)>
    : public isthmus::net::detail::AsioResult<std::decay_t<Value>> {};
