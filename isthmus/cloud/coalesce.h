// Coalescing: many askers, one call.
//
// Whoever asks for a key while a call for it is under way waits for that call's answer, if the call
// was sent late enough to tell what the asker wants to know. Calls run in a scope of their own, so
// an asker that is cancelled leaves alone, and the others still get their answer; the last asker
// to leave cancels the call.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <optional>
#include <utility>

#include "isthmus/base/scope.h"
#include "isthmus/base/signal.h"

namespace isthmus::cloud {

// The answer and the moment at which the question was sent: whatever happened later may be missing.
template <class T>
struct Dated {
  T value;
  Moment as_of;
};

// A resource. Outlives all who wait in ask(), and must not be destroyed while one does, except
// together with the world that both live in. T is copied to every asker.
template <class Key, class T>
class Coalescer {
 public:
  using Fetch = std::function<Task<Result<T>>(Key)>;

  // `fetch` makes one call; it is a plain function that returns a task.
  Coalescer(Loop& loop, Fetch fetch) : loop_(loop), fetch_(std::move(fetch)), calls_scope_(loop) {}

  // An answer as of `not_before` or later. Errors are those of the call, to all who wait for it;
  // cancelled and deadline may also be the asker's own.
  Task<Result<Dated<T>>> ask(Key key, Moment not_before) {
    Call& call = join_or_start(std::move(key), not_before);
    Waiting waiting(*this, call);
    CO_TRY(co_await call.done.wait());
    if (!*call.answer) co_return std::unexpected(call.answer->error());
    co_return Dated<T>{**call.answer, call.sent};
  }

  // Calls under way.
  std::size_t in_flight() const { return in_flight_; }

 private:
  struct Call {
    Key key;
    Moment sent;
    Signal done = {};
    std::optional<Result<T>> answer = {};
    std::size_t waiting = 0;
    bool abandoned = false;      // Nobody waits any more: not to be joined.
    Scope* under_way = nullptr;  // While it is being fetched.
  };

  // Counts one asker; the last one to leave removes the call, or ends it.
  class Waiting {
   public:
    Waiting(Coalescer& owner, Call& call) : owner_(owner), call_(call) { ++call_.waiting; }
    ~Waiting() {
      --call_.waiting;
      owner_.left(call_);
    }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;

   private:
    Coalescer& owner_;
    Call& call_;
  };

  Call& join_or_start(Key key, Moment not_before) {
    for (Call& call : calls_) {
      const bool may_join = !call.answer && !call.abandoned;
      if (may_join && call.sent >= not_before && call.key == key) return call;
    }
    Call& call = calls_.emplace_back(std::move(key), loop_.now());
    ++in_flight_;
    calls_scope_.spawn(&Coalescer::run, this, &call);
    return call;
  }

  // Answers ok to its scope whatever happened: one failed call must not cancel the others.
  static Task<Result<>> run(Coalescer* self, Call* call) {
    Scope& here = co_await current_scope();
    Scope scope(here);
    call->under_way = &scope;
    if (call->abandoned) scope.cancel();
    Result<T> answer = co_await scope.run(self->fetch_(call->key));
    call->under_way = nullptr;
    call->answer.emplace(std::move(answer));
    --self->in_flight_;
    call->done.set();
    self->remove_if_over(*call);
    co_return {};
  }

  void left(Call& call) {
    if (call.waiting > 0) return;
    if (!call.answer) {
      call.abandoned = true;
      if (call.under_way != nullptr) call.under_way->cancel();
      return;
    }
    remove_if_over(call);
  }

  void remove_if_over(Call& call) {
    if (!call.answer || call.waiting > 0) return;
    calls_.remove_if([&](const Call& candidate) { return &candidate == &call; });
  }

  Loop& loop_;
  Fetch fetch_;
  std::list<Call> calls_;
  std::size_t in_flight_ = 0;
  Scope calls_scope_;  // Last, so that calls end before what they write to.
};

}  // namespace isthmus::cloud
