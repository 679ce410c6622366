// One memory of the machines for all controllers, so that a thousand Nodes cost a call and not a
// thousand.
//
// Each reader says how old an answer may be; age counts from when the question was sent. Only
// positive answers are kept: that something is absent, or could not be read, is asked anew every
// time, because a Node may be deleted for it, and that no machine matches is asked anew as often as
// the limits allow, because the machine may be newer than the list in memory. When many machines
// are asked for one by one, the whole list is fetched instead and answers for all of them.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "isthmus/base/metrics.h"
#include "isthmus/cloud/coalesce.h"
#include "isthmus/cloud/provider.h"

namespace isthmus::cloud {

struct CacheLimits {
  // So many single look-ups within the window make the next one a list. A page of a thousand
  // machines costs a cloud about as much as ten single reads.
  std::size_t look_ups_per_list = 10;
  Duration window = std::chrono::seconds(10);

  // So far apart are the lists that are fetched because nothing in the one before has matched: a
  // thousand Nodes without a machine cost one of them a second.
  Duration doubts_apart = std::chrono::seconds(1);

  // Single answers kept: 10,000 machines of 1 KB are 10 MB. The oldest go first.
  std::size_t kept_max = 10'000;
};

// A resource; `next` and the loop outlive it, and it outlives its views.
class InstanceCache final {
 public:
  InstanceCache(Instances& next, Loop& loop, Metrics& metrics, CacheLimits limits = {});
  ~InstanceCache();

  // Errors as in Instances. The list is only asked when that is cheaper, and a machine that it
  // lacks is still asked for by its id: only that answer can be `absent`.
  Task<Result<Instance>> get(ProviderId id, Duration max_age);

  // Filtered: exactly the machines that match any field of the query. Where none does, the answer
  // is as new as the question, or at most `doubts_apart` older if somebody has just asked in vain.
  Task<Result<Listing<Instance>>> list(InstanceQuery query, Duration max_age);

  // The whole list, shared, and when it was asked for.
  using SharedList = std::shared_ptr<const Listing<Instance>>;
  Task<Result<Dated<SharedList>>> whole_list(Duration max_age);

  // Who is told of every answer by id that says "gone", whoever has asked, and when the question
  // was sent: for as long as the answer to this is kept, unless somebody else wants to be told
  // then.
  using OnGone = std::function<void(const ProviderId& id, Moment sent)>;
  [[nodiscard]] std::shared_ptr<const OnGone> on_gone(OnGone tell);

  // Forgets everything; calls under way still answer their askers.
  void forget();

 private:
  // A whole listing with its indexes, immutable once published.
  struct Snapshot;
  using SnapshotPtr = std::shared_ptr<const Snapshot>;
  struct Kept {
    Instance instance;
    Moment as_of;
  };

  Task<Result<Instance>> fetch_one(Instances& next, ProviderId id);
  static Task<Result<SnapshotPtr>> fetch_list(Instances& next);
  Task<Result<Dated<SnapshotPtr>>> recent_list(Moment not_before);
  const Instance* find_recent(const ProviderId& id, Moment not_before) const;
  bool list_is_cheaper();
  void keep(const Instance& instance, Moment as_of);

  Loop& loop_;
  const CacheLimits limits_;
  Counter& hits_;
  Counter& misses_;
  std::map<ProviderId, Kept> kept_;
  std::deque<Moment> look_ups_;
  SnapshotPtr snapshot_;
  Moment snapshot_as_of_;
  std::optional<Moment> doubted_at_;  // When a list was last wanted because nothing matched.
  std::weak_ptr<const OnGone> on_gone_;
  Coalescer<ProviderId, Instance> singles_;
  Coalescer<int, SnapshotPtr> lists_;  // One key: there is one list.
};

// The cache as one reader sees it.
class CachedInstances final : public Instances {
 public:
  CachedInstances(InstanceCache& cache, Duration max_age) : cache_(cache), max_age_(max_age) {}

  Task<Result<Instance>> get(ProviderId id) override { return cache_.get(std::move(id), max_age_); }
  Task<Result<Listing<Instance>>> list(InstanceQuery query) override {
    return cache_.list(std::move(query), max_age_);
  }

 private:
  InstanceCache& cache_;
  const Duration max_age_;
};

}  // namespace isthmus::cloud
