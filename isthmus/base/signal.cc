#include "isthmus/base/signal.h"

namespace isthmus {

void Signal::set() {
  set_ = true;
  while (!waiters_.empty()) waiters_.front<Wait>().leave(Outcome::ok);
}

bool Signal::Wait::start(Context& context, std::coroutine_handle<> self) {
  if (!enter(context, self)) return false;
  if (signal_.set_) {
    settle(Outcome::ok);
    return false;
  }
  signal_.waiters_.join(*this);
  return true;
}

Result<> Signal::Wait::await_resume() {
  if (outcome() == Outcome::ok) return {};
  return cut_short("waiting for a signal");
}

Task<Result<>> wait_for(Signal& signal) {
  Result<> waited = co_await signal.wait();
  co_return waited;
}

}  // namespace isthmus
