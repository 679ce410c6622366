// Waiting in line: the leaf that channels, queues and buckets are made of.
//
// A source of something keeps a WaitLine. A coroutine that finds nothing joins it; the source
// admits whoever stands first, so nobody is overtaken, and a waiter that is cancelled or destroyed
// has left the line by itself.
#pragma once

#include <coroutine>
#include <string>

#include "isthmus/base/scope.h"

namespace isthmus {

// Derived classes are awaitables: they add `start` (enter, then settle or join a line) and
// `await_resume`. What a waiter was given when it was admitted is lost with it if it is destroyed
// before it resumes, unless its destructor gives it back.
class Waiter : protected Leaf {
 protected:
  // The error for an outcome other than ok.
  std::unexpected<Error> cut_short(std::string_view what) const {
    const char* why = outcome() == Outcome::deadline ? ": out of time" : ": cancelled";
    return fail(outcome(), std::string(what) + why);
  }

  // The source has ended this wait, with ok or otherwise.
  void leave(Outcome outcome) {
    place_.unlink();
    finish(outcome);
  }

 private:
  friend class WaitLine;
  struct Place : isthmus::ListNode {
    explicit Place(Waiter& owner) : waiter(owner) {}
    Waiter& waiter;
  };

  void cancelled(Outcome why) override { leave(why); }

  Place place_{*this};
};

// First come, first served. Outlives every waiter in it.
class WaitLine {
 public:
  WaitLine() = default;
  ~WaitLine() { ISTHMUS_ASSERT(empty(), "a wait outlives what it waits for"); }

  bool empty() const { return !places_.linked(); }
  void join(Waiter& waiter) { places_.push_back(waiter.place_); }

  // The one who came first; the line must not be empty.
  template <class Derived>
  Derived& front() {
    return static_cast<Derived&>(static_cast<Waiter::Place&>(places_.front()).waiter);
  }

 private:
  ListNode places_;
};

}  // namespace isthmus
