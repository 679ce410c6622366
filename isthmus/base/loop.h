// The event loop: one thread, a queue of coroutines that are ready, a heap of timers, and a Driver
// that waits for the outside.
//
// The loop is the program's Clock. Time stands still while a turn runs and moves only between
// turns, when the driver says so; with a VirtualDriver (virtual_world.h) hours pass in
// microseconds and a run repeats exactly.
#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include "isthmus/base/clock.h"
#include "isthmus/base/intrusive_list.h"

namespace isthmus {

// The outside as the loop sees it. The real one is net/world_posix.h.
class Driver {
 public:
  virtual ~Driver() = default;
  virtual Moment now() = 0;
  virtual WallTime wall_now() = 0;

  // Blocks until the moment has come or something outside has called back into the loop; nullopt
  // is "no timer is armed". A moment in the past only collects what has already happened. Returns
  // false when nothing outside can ever happen, which the loop takes as its end.
  virtual bool wait(std::optional<Moment> until) = 0;
};

// A place in the ready queue; owned by whoever waits, and gone from the queue when destroyed.
struct Wakeup : ListNode {
  std::coroutine_handle<> handle;
};

// Something that happens at a moment. A destroyed timer must have been disarmed.
class Timer {
 public:
  Timer() = default;
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;
  bool armed() const { return index_ != kNotArmed; }

 protected:
  ~Timer() = default;

 private:
  friend class Loop;
  static constexpr std::size_t kNotArmed = std::numeric_limits<std::size_t>::max();

  // Runs once, disarmed already, between turns. It may wake coroutines and arm timers; it does not
  // resume anything itself.
  virtual void expired() = 0;

  Moment at_;
  std::uint64_t sequence_ = 0;  // Ties go to the timer that was armed first.
  std::size_t index_ = kNotArmed;
};

class Loop final : public Clock {
 public:
  explicit Loop(Driver& driver);
  ~Loop() override;
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  Moment now() const override { return now_; }
  WallTime wall_now() const override { return wall_now_; }

  // Resumes the coroutine in the next turn, first come first served. Waking twice is a bug.
  void wake(Wakeup& wakeup);

  // Arming an armed timer moves it.
  void arm(Timer& timer, Moment at);
  void disarm(Timer& timer);

  // Turns until `stop` answers true (asked after each turn and before the first); false when the
  // driver says that nothing can happen any more, which in a virtual world is a deadlock.
  bool run_until(const std::function<bool()>& stop);

  // Whether nothing is ready and no timer is due: nothing more happens before time passes.
  bool quiet() const {
    return !ready_.linked() && (timers_.empty() || timers_.front()->at_ > now_);
  }

  // Called after every turn with the time its coroutines took: the loop's lag, as others see it.
  void observe_turns(std::function<void(Duration)> observer) {
    turn_observer_ = std::move(observer);
  }

 private:
  void turn();
  void fire_timers();
  bool earlier(std::size_t left, std::size_t right) const;
  void swap_timers(std::size_t left, std::size_t right);
  void sift_up(std::size_t index);
  void sift_down(std::size_t index);

  Driver& driver_;
  Moment now_;
  WallTime wall_now_;
  ListNode ready_;
  std::vector<Timer*> timers_;  // A binary heap by (at, sequence).
  std::uint64_t next_sequence_ = 0;
  std::function<void(Duration)> turn_observer_;
};

}  // namespace isthmus
