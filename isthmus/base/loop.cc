#include "isthmus/base/loop.h"

#include <utility>

#include "isthmus/base/result.h"

namespace isthmus {

Loop::Loop(Driver& driver) : driver_(driver), now_(driver.now()), wall_now_(driver.wall_now()) {}

Loop::~Loop() { ISTHMUS_ASSERT(timers_.empty(), "a timer outlives its loop"); }

void Loop::wake(Wakeup& wakeup) {
  ISTHMUS_ASSERT(!wakeup.linked(), "woken twice");
  ready_.push_back(wakeup);
}

bool Loop::run_until(const std::function<bool()>& stop) {
  while (!stop()) {
    std::optional<Moment> until;
    if (ready_.linked()) {
      until = now_;  // Only look outside; there is work here.
    } else if (!timers_.empty()) {
      until = timers_.front()->at_;
    }
    if (!driver_.wait(until)) return false;
    now_ = driver_.now();
    wall_now_ = driver_.wall_now();
    fire_timers();
    turn();
  }
  return true;
}

// Runs exactly what was ready when the turn began: what these coroutines wake waits for the next
// turn, so a busy pair of coroutines can never keep timers and sockets from being looked at.
void Loop::turn() {
  ListNode batch;
  batch.splice(ready_);
  if (!batch.linked()) return;
  while (batch.linked()) {
    Wakeup& wakeup = static_cast<Wakeup&>(batch.front());
    wakeup.unlink();
    wakeup.handle.resume();
  }
  if (turn_observer_) turn_observer_(driver_.now() - now_);
}

// A timer that is armed by one that fires waits for the next turn, however early it is due: one
// that keeps re-arming itself cannot stop the loop.
void Loop::fire_timers() {
  const std::uint64_t armed_before = next_sequence_;
  while (!timers_.empty() && timers_.front()->at_ <= now_) {
    Timer& timer = *timers_.front();
    if (timer.sequence_ >= armed_before) return;
    disarm(timer);
    timer.expired();
  }
}

void Loop::arm(Timer& timer, Moment at) {
  disarm(timer);
  timer.at_ = at;
  timer.sequence_ = next_sequence_++;
  timer.index_ = timers_.size();
  timers_.push_back(&timer);
  sift_up(timer.index_);
}

void Loop::disarm(Timer& timer) {
  if (!timer.armed()) return;
  const std::size_t index = timer.index_;
  swap_timers(index, timers_.size() - 1);
  timers_.pop_back();
  timer.index_ = Timer::kNotArmed;
  if (index == timers_.size()) return;
  sift_up(index);
  sift_down(index);
}

bool Loop::earlier(std::size_t left, std::size_t right) const {
  const Timer& a = *timers_[left];
  const Timer& b = *timers_[right];
  return a.at_ != b.at_ ? a.at_ < b.at_ : a.sequence_ < b.sequence_;
}

void Loop::swap_timers(std::size_t left, std::size_t right) {
  std::swap(timers_[left], timers_[right]);
  timers_[left]->index_ = left;
  timers_[right]->index_ = right;
}

void Loop::sift_up(std::size_t index) {
  while (index > 0) {
    const std::size_t parent = (index - 1) / 2;
    if (!earlier(index, parent)) return;
    swap_timers(index, parent);
    index = parent;
  }
}

void Loop::sift_down(std::size_t index) {
  for (;;) {
    std::size_t first = index;
    for (std::size_t child : {2 * index + 1, 2 * index + 2}) {
      if (child < timers_.size() && earlier(child, first)) first = child;
    }
    if (first == index) return;
    swap_timers(index, first);
    index = first;
  }
}

}  // namespace isthmus
