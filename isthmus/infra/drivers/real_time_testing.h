// The loop in real time, for tests that need real answers of the kernel between two timers.
#pragma once

#include <poll.h>

#include <chrono>
#include <optional>
#include <utility>

#include "isthmus/base/scope.h"

namespace isthmus::infra::drivers::testing {

class RealTimeDriver final : public Driver {
 public:
  Moment now() override { return Moment(std::chrono::steady_clock::now().time_since_epoch()); }
  WallTime wall_now() override {
    return WallTime(std::chrono::system_clock::now().time_since_epoch());
  }
  bool wait(std::optional<Moment> until) override {
    if (!until) return false;
    using std::chrono::milliseconds;
    if (Duration left = *until - now(); left > Duration::zero()) {
      (void)::poll(nullptr, 0, static_cast<int>(std::chrono::ceil<milliseconds>(left).count()));
    }
    return true;
  }
};

// As VirtualWorld::run().
template <class T>
T run_in_real_time(Task<T> task) {
  RealTimeDriver driver;
  Loop loop(driver);
  std::optional<T> answer = run_to_end(loop, std::move(task));
  ISTHMUS_ASSERT(answer.has_value(), "nothing is ready and no timer is armed");
  return std::move(*answer);
}

}  // namespace isthmus::infra::drivers::testing
