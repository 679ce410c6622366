// Channel: a bounded line of values from any number of senders to any number of receivers.
//
//   CO_TRY(co_await lines.send(std::move(line)));                // waits while the channel is full
//   std::optional<Line> line = CO_TRY(co_await lines.receive()); // nullopt: closed and empty
//
// Senders and receivers are each served in the order they came. A receiver that is destroyed after
// it was given a value, but before it ran, puts the value back in front: nothing is lost while the
// channel lives.
#pragma once

#include <coroutine>
#include <cstddef>
#include <deque>
#include <optional>
#include <utility>

#include "isthmus/base/waiter.h"

namespace isthmus {

// A resource; outlives every wait on it.
template <class T>
class Channel {
 public:
  // Holds at most `capacity` (at least 1) values that nobody has received yet.
  explicit Channel(std::size_t capacity) : capacity_(capacity) {
    ISTHMUS_ASSERT(capacity > 0, "a channel holds at least one value");
  }
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  // Result<>: ok once the channel has taken the value. cancelled when the channel is closed or,
  // like deadline, when the scope ended first; the value was not sent then, and is gone.
  class Send;
  Send send(T value) { return Send(*this, std::move(value)); }

  // For those who must not wait: false when the channel is full or closed.
  bool try_send(T value);

  // Result<std::optional<T>>: the next value, or nullopt once the channel is closed and empty.
  // cancelled or deadline when the scope ended first.
  class Receive;
  Receive receive() { return Receive(*this); }

  // nullopt when nothing is there now.
  std::optional<T> try_receive();

  // No more values: waiting senders fail, receivers get what is left and then nullopt.
  void close();

  std::size_t size() const { return values_.size(); }

 private:
  bool deliver(T& value);
  void put_back(T value);

  const std::size_t capacity_;
  bool closed_ = false;
  std::deque<T> values_;
  WaitLine senders_;    // Only while the channel is full.
  WaitLine receivers_;  // Only while it is empty.
};

template <class T>
class Channel<T>::Send final : private Waiter {
 public:
  Send(Channel& channel, T value) : channel_(channel), value_(std::move(value)) {}
  bool await_ready() const { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> self) {
    if (!enter(*self.promise().context, self)) return false;
    if (channel_.closed_) {
      settle(Outcome::cancelled);
    } else if (channel_.deliver(value_)) {
      settle(Outcome::ok);
    } else {
      channel_.senders_.join(*this);
      return true;
    }
    return false;
  }
  Result<> await_resume() {
    if (outcome() == Outcome::ok) return {};
    if (channel_.closed_) return fail(Outcome::cancelled, "sending into a closed channel");
    return cut_short("sending into a channel");
  }

 private:
  friend class Channel;
  friend class WaitLine;
  Channel& channel_;
  T value_;
};

template <class T>
class Channel<T>::Receive final : private Waiter {
 public:
  explicit Receive(Channel& channel) : channel_(channel) {}
  ~Receive() override {
    if (value_) channel_.put_back(std::move(*value_));
  }
  bool await_ready() const { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> self) {
    if (!enter(*self.promise().context, self)) return false;
    value_ = channel_.try_receive();
    if (!value_ && !channel_.closed_) {
      channel_.receivers_.join(*this);
      return true;
    }
    settle(Outcome::ok);
    return false;
  }
  Result<std::optional<T>> await_resume() {
    if (outcome() != Outcome::ok) return cut_short("receiving from a channel");
    return std::exchange(value_, std::nullopt);
  }

 private:
  friend class Channel;
  friend class WaitLine;
  Channel& channel_;
  std::optional<T> value_;
};

template <class T>
bool Channel<T>::try_send(T value) {
  return !closed_ && deliver(value);
}

// Gives the value to whoever waits for one, else keeps it; false when there is no room.
template <class T>
bool Channel<T>::deliver(T& value) {
  if (!receivers_.empty()) {
    auto& receiver = receivers_.template front<Receive>();
    receiver.value_.emplace(std::move(value));
    receiver.leave(Outcome::ok);
    return true;
  }
  if (values_.size() >= capacity_) return false;
  values_.push_back(std::move(value));
  return true;
}

template <class T>
std::optional<T> Channel<T>::try_receive() {
  if (values_.empty()) return std::nullopt;
  std::optional<T> value(std::move(values_.front()));
  values_.pop_front();
  if (!senders_.empty() && values_.size() < capacity_) {
    auto& sender = senders_.template front<Send>();
    values_.push_back(std::move(sender.value_));
    sender.leave(Outcome::ok);
  }
  return value;
}

// May exceed the capacity by the values that were under way to receivers.
template <class T>
void Channel<T>::put_back(T value) {
  if (!receivers_.empty()) {
    deliver(value);
  } else {
    values_.push_front(std::move(value));
  }
}

template <class T>
void Channel<T>::close() {
  closed_ = true;
  while (!senders_.empty()) senders_.template front<Send>().leave(Outcome::cancelled);
  while (!receivers_.empty()) receivers_.template front<Receive>().leave(Outcome::ok);
}

}  // namespace isthmus
