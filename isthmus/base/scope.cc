#include "isthmus/base/scope.h"

namespace isthmus {

bool Leaf::enter(Context& context, std::coroutine_handle<> handle) {
  loop_ = &context.loop;
  if (context.scope.is_cancelled()) {
    outcome_ = context.scope.reason();
    return false;
  }
  wakeup_.handle = handle;
  context.scope.leaves_.push_back(*this);
  return true;
}

void Leaf::finish(Outcome outcome) {
  unlink();
  outcome_ = outcome;
  loop_->wake(wakeup_);
}

Scope::Scope(Loop& loop) : context_{loop, *this} {}

Scope::Scope(Scope& parent) : context_{parent.context_.loop, *this}, reason_(parent.reason_) {
  parent.inner_scopes_.push_back(*this);
}

Scope::~Scope() {
  while (children_.linked()) {
    auto& child = static_cast<Child::promise_type&>(children_.front());
    std::coroutine_handle<Child::promise_type>::from_promise(child).destroy();
  }
  context_.loop.disarm(*this);
  ISTHMUS_ASSERT(!leaves_.linked(), "a wait outlives its scope");
  ISTHMUS_ASSERT(!inner_scopes_.linked(), "an inner scope outlives its outer one");
}

void Scope::start(std::coroutine_handle<> handle, Wakeup& wakeup) {
  // A joiner that was woken but has not run yet waits for the new child as well.
  if (joiner_ != nullptr) joiner_->unlink();
  wakeup.handle = handle;
  context_.loop.wake(wakeup);
}

void Scope::child_answered(Result<> result) {
  if (result) return;
  if (first_error_) first_error_ = result;
  cancel();
}

void Scope::child_gone() {
  --child_count_;
  if (child_count_ == 0 && joiner_ != nullptr) context_.loop.wake(*joiner_);
}

void Scope::cancel(Outcome why) {
  if (is_cancelled()) return;
  reason_ = why;
  context_.loop.disarm(*this);
  // A leaf that cannot stop at once stays out of the list all the same, so this ends.
  while (leaves_.linked()) {
    Leaf& leaf = static_cast<Leaf&>(leaves_.front());
    leaf.unlink();
    leaf.cancelled(why);
  }
  // Inner scopes stay linked, so their destructors still find their place; each is visited once
  // because a cancelled scope ignores a second cancel.
  ListNode visited;
  while (inner_scopes_.linked()) {
    Scope& inner = static_cast<Scope&>(inner_scopes_.front());
    inner.unlink();
    visited.push_back(inner);
    inner.cancel(why);
  }
  inner_scopes_.splice(visited);
}

void Scope::set_deadline(Moment at) {
  if (is_cancelled() || (deadline_ && *deadline_ <= at)) return;
  deadline_ = at;
  context_.loop.arm(*this, at);
}

void Scope::expired() { cancel(Outcome::deadline); }

bool Sleep::start(Context& context, std::coroutine_handle<> self) {
  if (!enter(context, self)) return false;
  loop().arm(*this, until_ ? *until_ : later(loop().now(), duration_));
  return true;
}

void Sleep::cancelled(Outcome why) {
  loop().disarm(*this);
  finish(why);
}

Result<> Sleep::await_resume() {
  if (outcome() == Outcome::ok) return {};
  return fail(outcome(), outcome() == Outcome::deadline ? "out of time" : "cancelled");
}

}  // namespace isthmus
