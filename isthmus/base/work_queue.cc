#include "isthmus/base/work_queue.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

namespace isthmus {
namespace {

// client-go's buckets: from 10 ns to 10 s.
const std::vector<double> kSeconds{1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1, 10};

}  // namespace

// Everything known about one key. It stays in the map while it waits, is held, is delayed or has
// failures.
struct WorkQueue::Item final : isthmus::ListNode, Timer {
  Item(WorkQueue& queue_, Key key_) : queue(queue_), key(std::move(key_)) {}
  ~Item() { queue.loop_.disarm(*this); }

  // The delay is over.
  void expired() override {
    if (!queue.shutting_down_) {
      queue.mark(*this, delayed_priority);
    } else {
      queue.release(*this);
    }
  }

  bool idle() const { return !dirty && !held_since && !armed() && failures == 0; }

  WorkQueue& queue;
  const Key key;

  bool dirty = false;  // Waits in a line, or will once it is no longer held.
  Priority priority = Priority::resync;
  Moment dirty_since{};

  std::optional<Moment> held_since;
  Priority held_priority = Priority::resync;

  Moment due{};  // Of the delayed add; only while armed.
  Priority delayed_priority = Priority::resync;

  unsigned failures = 0;
};

WorkQueue::WorkQueue(Loop& loop, Random& random, Metrics& metrics, WorkQueueOptions options)
    : loop_(loop),
      random_(random),
      options_(std::move(options)),
      depth_gauge_(metrics.gauge("workqueue_depth", "Current depth of workqueue",
                                 {{"name", options_.name}})),
      adds_(metrics.counter("workqueue_adds_total", "Total number of adds handled by workqueue",
                            {{"name", options_.name}})),
      retries_(metrics.counter("workqueue_retries_total",
                               "Total number of retries handled by workqueue",
                               {{"name", options_.name}})),
      dropped_(metrics.counter("isthmus_workqueue_dropped_total",
                               "Number of adds dropped because the workqueue knew too many keys",
                               {{"name", options_.name}})),
      queue_duration_(
          metrics.histogram("workqueue_queue_duration_seconds",
                            "How long in seconds an item stays in workqueue before being requested",
                            kSeconds, {{"name", options_.name}})),
      work_duration_(
          metrics.histogram("workqueue_work_duration_seconds",
                            "How long in seconds processing an item from workqueue takes", kSeconds,
                            {{"name", options_.name}})),
      unfinished_(metrics.gauge("workqueue_unfinished_work_seconds",
                                "How many seconds of work is in progress and has not been observed "
                                "by work_duration; large values indicate stuck workers",
                                {{"name", options_.name}})),
      longest_(metrics.gauge("workqueue_longest_running_processor_seconds",
                             "How many seconds the longest running processor of workqueue has been "
                             "running",
                             {{"name", options_.name}})),
      on_collect_(metrics, [this] { refresh_metrics(); }) {}

WorkQueue::~WorkQueue() = default;

void WorkQueue::add(const Key& key, Priority priority) {
  if (shutting_down_) return;
  if (Item* item = find_or_make(key)) mark(*item, priority);
}

void WorkQueue::add_after(const Key& key, Duration delay, Priority priority) {
  if (shutting_down_) return;
  retries_.add();
  Item* item = find_or_make(key);
  if (item == nullptr) return;
  if (delay <= Duration::zero()) return mark(*item, priority);
  const Moment due = later(loop_.now(), delay);
  if (!item->armed()) {
    item->due = due;
    item->delayed_priority = priority;
    loop_.arm(*item, due);
    return;
  }
  item->delayed_priority = std::max(item->delayed_priority, priority);
  if (due >= item->due) return;
  item->due = due;
  loop_.arm(*item, due);
}

Duration WorkQueue::add_rate_limited(const Key& key) {
  unsigned failures = 0;
  Priority priority = Priority::fresh;
  if (Item* item = shutting_down_ ? nullptr : find_or_make(key)) {
    failures = item->failures;
    if (failures < std::numeric_limits<unsigned>::max()) ++item->failures;
    if (item->held_since) priority = item->held_priority;
  }
  const Duration delay = backoff_delay(options_.backoff, failures, random_);
  add_after(key, delay, priority);
  return delay;
}

void WorkQueue::forget(const Key& key) {
  Item* item = find(key);
  if (item == nullptr) return;
  item->failures = 0;
  release(*item);
}

unsigned WorkQueue::failures(const Key& key) const {
  const auto found = items_.find(key);
  return found == items_.end() ? 0 : found->second->failures;
}

void WorkQueue::done(const Key& key) {
  Item* item = find(key);
  ISTHMUS_ASSERT(item != nullptr && item->held_since, "done with a key that nobody holds");
  work_duration_.observe(loop_.now() - *item->held_since);
  running_.erase(running_.find(*item->held_since));
  item->held_since.reset();
  if (item->dirty) {
    line_up(*item);
  } else {
    release(*item);
  }
  end_if_drained();
}

void WorkQueue::shut_down() {
  shutting_down_ = true;
  end_if_drained();
}

WorkQueue::Item* WorkQueue::find(const Key& key) {
  const auto found = items_.find(key);
  return found == items_.end() ? nullptr : found->second.get();
}

// nullptr, and counted, when the queue knows too many keys.
WorkQueue::Item* WorkQueue::find_or_make(const Key& key) {
  if (Item* known = find(key)) return known;
  if (items_.size() >= options_.keys_max) {
    dropped_.add();
    return nullptr;
  }
  return items_.emplace(key, std::make_unique<Item>(*this, key)).first->second.get();
}

void WorkQueue::mark(Item& item, Priority priority) {
  if (!item.dirty) {
    item.dirty = true;
    item.priority = priority;
    item.dirty_since = loop_.now();
    adds_.add();
    depth_gauge_.set(static_cast<double>(++depth_));
    if (!item.held_since) line_up(item);
  } else if (priority > item.priority) {
    item.priority = priority;
    if (item.linked()) {
      item.unlink();
      line_up(item);
    }
  }
}

void WorkQueue::line_up(Item& item) {
  (item.priority == Priority::fresh ? fresh_ : resync_).push_back(item);
  hand_out();
}

void WorkQueue::hand_out() {
  while (anything_waits() && !getters_.empty()) {
    auto& getter = getters_.front<Get>();
    getter.item_ = &take_next();
    getter.leave(Outcome::ok);
  }
}

// The next item in order; it is held from now on. Something must wait.
WorkQueue::Item& WorkQueue::take_next() {
  const bool resync_turn =
      !fresh_.linked() || (resync_.linked() && fresh_in_a_row_ >= kFreshInARowMax);
  fresh_in_a_row_ = resync_turn || !resync_.linked() ? 0 : fresh_in_a_row_ + 1;
  Item& item = static_cast<Item&>((resync_turn ? resync_ : fresh_).front());
  item.unlink();
  item.dirty = false;
  item.held_since = loop_.now();
  item.held_priority = item.priority;
  running_.insert(loop_.now());
  depth_gauge_.set(static_cast<double>(--depth_));
  queue_duration_.observe(loop_.now() - item.dirty_since);
  return item;
}

// The getter was destroyed before it learnt of the item: it waits again, in front, as if nobody had
// taken it.
void WorkQueue::give_back(Item& item) {
  running_.erase(running_.find(*item.held_since));
  item.held_since.reset();
  if (!item.dirty) {
    item.dirty = true;
    item.priority = item.held_priority;
    depth_gauge_.set(static_cast<double>(++depth_));
  }
  item.priority = std::max(item.priority, item.held_priority);
  (item.priority == Priority::fresh ? fresh_ : resync_).push_front(item);
  hand_out();
}

// Forgets an item of which nothing is left to know.
void WorkQueue::release(Item& item) {
  if (item.idle()) items_.erase(items_.find(item.key));
}

void WorkQueue::end_if_drained() {
  if (!is_drained()) return;
  while (!getters_.empty()) getters_.front<Get>().leave(Outcome::cancelled);
}

void WorkQueue::refresh_metrics() {
  double sum = 0;
  double longest = 0;
  for (const Moment since : running_) {
    const double seconds = std::chrono::duration<double>(loop_.now() - since).count();
    sum += seconds;
    longest = std::max(longest, seconds);
  }
  unfinished_.set(sum);
  longest_.set(longest);
}

bool WorkQueue::Get::start(Context& context, std::coroutine_handle<> self) {
  if (!enter(context, self)) return false;
  if (queue_.anything_waits()) {
    item_ = &queue_.take_next();
    settle(Outcome::ok);
    return false;
  }
  if (queue_.is_drained()) {
    settle(Outcome::cancelled);
    return false;
  }
  queue_.getters_.join(*this);
  return true;
}

Result<WorkQueue::Key> WorkQueue::Get::await_resume() {
  if (outcome() == Outcome::ok) return std::exchange(item_, nullptr)->key;
  if (queue_.is_drained()) return fail(Outcome::cancelled, "the work queue is shut down");
  return cut_short("waiting for work");
}

}  // namespace isthmus
