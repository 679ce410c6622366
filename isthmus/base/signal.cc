#include "isthmus/base/signal.h"

namespace isthmus {

void Signal::set() {
  set_ = true;
  while (waiters_.linked()) {
    auto& place = static_cast<Wait::Place&>(waiters_.front());
    place.unlink();
    place.wait.finish(Outcome::ok);
  }
}

bool Signal::Wait::start(Context& context, std::coroutine_handle<> self) {
  if (!enter(context, self)) return false;
  if (signal_.set_) {
    settle(Outcome::ok);
    return false;
  }
  signal_.waiters_.push_back(place_);
  return true;
}

void Signal::Wait::cancelled(Outcome why) {
  place_.unlink();
  finish(why);
}

Result<> Signal::Wait::await_resume() {
  if (outcome() == Outcome::ok) return {};
  return fail(outcome(), "waiting was cut short");
}

}  // namespace isthmus
