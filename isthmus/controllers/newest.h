// Read your own writes: the store follows the API server by a watch, and for some milliseconds
// after a write it still shows what was there before. Whoever decides on that decides wrongly,
// finds out by a conflict, and pays for two more requests.
//
// A resourceVersion is opaque, so "older" cannot be computed. But whoever patched one version and
// was answered another, or read one live after a conflict, knows this pair, and that is all it
// takes.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>

#include "isthmus/kube/api/meta.h"
#include "isthmus/kube/store.h"

namespace isthmus::controllers {

// A resource; the store outlives it, and it outlives every publication of the store.
template <class T>
class Newest final {
 public:
  explicit Newest(kube::Store<T>& store) : store_(store) {
    store.subscribe([this](const kube::Difference<T>& difference) { note(difference); });
  }
  Newest(const Newest&) = delete;
  Newest& operator=(const Newest&) = delete;

  // The newest snapshot that we know: the store's, unless that is known to be older than one of
  // ours. Null: the store has none.
  kube::Snapshot<T> find(const kube::ObjectKey& key) const {
    kube::Snapshot<T> seen = store_.find(key);
    const auto ahead = ahead_.find(key);
    if (!seen || ahead == ahead_.end()) return seen;
    return ahead->second.older.contains(seen->meta.resource_version) ? ahead->second.newest : seen;
  }

  // The server has answered `newer` to a write of `older`, or to a read after it refused one.
  void learn(const T& older, kube::Snapshot<T> newer) {
    if (older.meta.resource_version == newer->meta.resource_version) return;
    const kube::ObjectKey key = newer->meta.key;
    const kube::Snapshot<T> seen = store_.find(key);
    if (!seen || seen->meta.resource_version == newer->meta.resource_version) return;
    Ahead& ahead = ahead_[key];
    ahead.older.insert(older.meta.resource_version);
    ahead.newest = std::move(newer);
  }

  // Objects of which we know more than the store.
  std::size_t ahead() const { return ahead_.size(); }

 private:
  struct Ahead {
    kube::Snapshot<T> newest;
    std::set<std::string> older;  // Versions that are known to be older.
  };

  // The store has caught up, or shows something that we have not seen; either way it leads again.
  void note(const kube::Difference<T>& difference) {
    const auto ahead = ahead_.find(difference.key);
    if (ahead == ahead_.end()) return;
    const bool behind =
        difference.after && ahead->second.older.contains(difference.after->meta.resource_version);
    if (!behind) ahead_.erase(ahead);
  }

  kube::Store<T>& store_;
  std::map<kube::ObjectKey, Ahead> ahead_;
};

}  // namespace isthmus::controllers
