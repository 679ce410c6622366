// WorkQueue: keys of objects whose truth may have changed, each handed to one worker at a time.
//
//   for (;;) {
//     const std::string key = CO_TRY(co_await queue.get());  // ends when the queue is shut down
//     Result<> result = co_await reconcile(key);
//     if (result) queue.forget(key); else queue.add_rate_limited(key);
//     queue.done(key);
//   }
//
// The rules are client-go's (a key that waits is not added twice; a key that is being worked on is
// remembered and waits again once it is done; so no two workers hold one key and no change is
// lost), with two lines instead of one: fresh changes overtake resyncs. Whatever a controller tries
// again waits here.
#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>

#include "isthmus/base/backoff.h"
#include "isthmus/base/clock.h"
#include "isthmus/base/metrics.h"
#include "isthmus/base/random.h"
#include "isthmus/base/result.h"
#include "isthmus/base/waiter.h"

namespace isthmus {

enum class Priority : std::uint8_t {
  resync,  // Nobody changed anything: periodic checks, relists, fan-out from other objects.
  fresh,   // Somebody changed the object and waits for the effect.
};

// Half jitter: keys that failed together spread out, and no key comes back at once.
inline constexpr BackoffPolicy kWorkQueueBackoff{
    .start = std::chrono::seconds(1), .cap = std::chrono::minutes(2), .jitter = Jitter::half};

struct WorkQueueOptions {
  std::string name;  // The label `name` of the metrics.
  BackoffPolicy backoff = kWorkQueueBackoff;

  // Keys known at once: waiting, delayed, being worked on or with failures. The largest supported
  // cluster has 5,000 Nodes and 10,000 Services; ten times that is 150,000, at about 300 bytes each
  // 45 MB. Beyond it new keys are dropped and counted; a resync brings them back.
  std::size_t keys_max = 150'000;
};

// A resource; loop, random and metrics outlive it, and it outlives every wait on it.
class WorkQueue {
 public:
  using Key = std::string;

  // After so many fresh keys in a row a waiting resync gets its turn, so that a storm of changes
  // cannot stop the periodic checks altogether.
  static constexpr unsigned kFreshInARowMax = 32;

  WorkQueue(Loop& loop, Random& random, Metrics& metrics, WorkQueueOptions options);
  ~WorkQueue();
  WorkQueue(const WorkQueue&) = delete;
  WorkQueue& operator=(const WorkQueue&) = delete;

  // The key waits from now on. If it waits already nothing changes, except that a fresh add moves a
  // waiting resync to the end of the fresh line. A delayed add of the key stays pending.
  void add(const Key& key, Priority priority = Priority::fresh);

  // The same after a delay; zero or less is now. Of several pending delays of one key the earliest
  // counts, with the highest of their priorities.
  void add_after(const Key& key, Duration delay, Priority priority = Priority::resync);

  // One more failure of the key: adds it after its backoff, with the priority it was last handed
  // out with. Returns the delay, for the log.
  Duration add_rate_limited(const Key& key);

  // The key's failures are history: its next backoff begins at the start. Pending adds stay.
  void forget(const Key& key);

  unsigned failures(const Key& key) const;

  // Result<Key>: the next key, which the caller now holds and must give to done() whatever happens.
  // cancelled once the queue is shut down, nothing waits, and nobody holds a key that may come
  // back; cancelled or deadline when the scope ended first. A caller destroyed before it resumed
  // never held the key.
  class Get;
  Get get();

  // The caller no longer holds the key; if it was added meanwhile, it waits again. Holding it is a
  // precondition.
  void done(const Key& key);

  // Adds are ignored from now on and pending delays dropped; what waits is still handed out.
  void shut_down();

  std::size_t depth() const { return depth_; }          // Keys that wait, or will once done.
  std::size_t held() const { return running_.size(); }  // Keys being worked on.

 private:
  struct Item;

  Item* find(const Key& key);
  Item* find_or_make(const Key& key);
  void mark(Item& item, Priority priority);
  void line_up(Item& item);
  bool anything_waits() const { return fresh_.linked() || resync_.linked(); }
  bool is_drained() const { return shutting_down_ && depth_ == 0 && running_.empty(); }
  Item& take_next();
  void hand_out();
  void give_back(Item& item);
  void release(Item& item);
  void end_if_drained();
  void refresh_metrics();

  Loop& loop_;
  Random& random_;
  const WorkQueueOptions options_;

  // Never iterated, so its order shows nowhere.
  std::unordered_map<Key, std::unique_ptr<Item>> items_;
  ListNode fresh_;
  ListNode resync_;
  unsigned fresh_in_a_row_ = 0;
  std::size_t depth_ = 0;
  std::multiset<Moment> running_;  // When the keys being worked on were handed out.
  WaitLine getters_;               // Only while nothing waits.
  bool shutting_down_ = false;

  Gauge& depth_gauge_;
  Counter& adds_;
  Counter& retries_;
  Counter& dropped_;
  Histogram& queue_duration_;
  Histogram& work_duration_;
  Gauge& unfinished_;
  Gauge& longest_;
  Metrics::OnCollect on_collect_;
};

class WorkQueue::Get final : private Waiter {
 public:
  explicit Get(WorkQueue& queue) : queue_(queue) {}
  ~Get() override {
    if (item_ != nullptr) queue_.give_back(*item_);
  }
  bool await_ready() const { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> self) {
    return start(*self.promise().context, self);
  }
  Result<Key> await_resume();

 private:
  friend class WorkQueue;
  friend class WaitLine;
  bool start(Context& context, std::coroutine_handle<> self);

  WorkQueue& queue_;
  Item* item_ = nullptr;
};

inline WorkQueue::Get WorkQueue::get() { return Get(*this); }

}  // namespace isthmus
