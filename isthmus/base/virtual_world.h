// A world for tests and the simulator: time passes only when everything waits for it.
//
//   VirtualWorld world;
//   Result<int> answer = world.run(retry_for_an_hour());  // returns at once
//   EXPECT_EQ(world.elapsed(), 1h);
#pragma once

#include <cstddef>
#include <utility>

#include "isthmus/base/scope.h"

namespace isthmus {

// Jumps to the next timer. Nothing happens outside, so no timer is the end.
class VirtualDriver final : public Driver {
 public:
  Moment now() override { return now_; }
  WallTime wall_now() override { return wall_now_; }
  bool wait(std::optional<Moment> until) override {
    if (!until) return false;
    if (*until > now_) {
      wall_now_ += *until - now_;
      now_ = *until;
    }
    return true;
  }

  // The wall clock is set, as an administrator or NTP might; monotonic time does not notice.
  void set_wall(WallTime time) { wall_now_ = time; }

 private:
  Moment now_{};
  WallTime wall_now_{std::chrono::seconds(1'767'225'600)};  // 2026-01-01T00:00:00Z
};

// Ends with an assertion when a coroutine that was started in it still exists, so every test that
// uses one is also a test for leaks.
class VirtualWorld {
 public:
  ~VirtualWorld() {
    ISTHMUS_ASSERT(detail::live_frames <= frames_before_, "a coroutine outlives its world");
  }

  // Runs the task to its end; a deadlock is a bug of the test or of what it tests.
  template <class T>
  T run(Task<T> task) {
    std::optional<T> answer = run_to_end(loop, std::move(task));
    ISTHMUS_ASSERT(answer.has_value(), "deadlock: nothing is ready and no timer is armed");
    return std::move(*answer);
  }
  Duration elapsed() const { return loop.now() - Moment{}; }

  // Lets everything happen that can happen without time passing.
  void settle() {
    loop.run_until([this] { return loop.quiet(); });
  }

  // Lets exactly this much time pass, and everything happen that happens meanwhile.
  void advance(Duration duration) {
    Alarm alarm;
    loop.arm(alarm, later(loop.now(), duration));
    loop.run_until([this, &alarm] { return !alarm.armed() && loop.quiet(); });
  }

  VirtualDriver driver;
  Loop loop{driver};

 private:
  struct Alarm final : Timer {
    void expired() override {}
  };

  const std::size_t frames_before_ = detail::live_frames;
};

}  // namespace isthmus
