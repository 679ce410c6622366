// The store: what the API server said last, as immutable snapshots, and the keys whose truth has
// changed. One watcher writes it (through StoreSink, watcher.h); anybody reads.
//
// Promises, in the order in which they matter:
// - A malformed object never looks deleted. An object that cannot be read keeps its last good
//   snapshot and is marked unreadable, until it is read again or really gone.
// - The first list and every later relist replace the whole view at once. Readers never see half.
// - The view is swapped first and only then are the differences published; so whoever is told of a
//   key finds its newest snapshot. Deletions come before additions and changes, because what is
//   gone may have held what the new one wants. An object that was deleted and created again under
//   its name between two looks is published as both.
// - Nothing is published twice: an object with the same uid and resourceVersion is no news.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "isthmus/base/result.h"
#include "isthmus/base/signal.h"
#include "isthmus/kube/api/decode.h"
#include "isthmus/kube/api/meta.h"

namespace isthmus::kube {

template <class T>
using Snapshot = std::shared_ptr<const T>;

// One key's news. Both snapshots are never null at once.
template <class T>
struct Difference {
  ObjectKey key;
  Snapshot<T> before;    // Null: it was not there.
  Snapshot<T> after;     // Null: it is gone.
  bool initial = false;  // Part of the first list of this process: no news, only new to us.
};

// A resource. There is no unsubscribing: what a subscriber refers to outlives the last publication,
// which is over with the run of the watcher.
template <class T>
class Store {
 public:
  using Subscriber = std::function<void(const Difference<T>&)>;

  Store() = default;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  // The last good snapshot, or null: not there, or nothing is known yet (see has_synced).
  Snapshot<T> find(const ObjectKey& key) const;

  // Everything, in the order of the keys. Borrowed until the next co_await.
  const std::map<ObjectKey, Snapshot<T>>& all() const { return objects_; }

  // Why the newest version of an object could not be read; nullopt: it could, or is not there. An
  // object that never could be read has a reason here and no snapshot.
  std::optional<std::string_view> unreadable(const ObjectKey& key) const;
  const std::map<ObjectKey, std::string>& all_unreadable() const { return unreadable_; }

  // Whether a complete list has ever been published, and a wait for it.
  bool has_synced() const { return synced_.is_set(); }
  Signal& synced() { return synced_; }

  // Called for every difference, in the turn in which it is published; it takes note of the key and
  // returns. What is there already is delivered at once, as initial.
  void subscribe(Subscriber subscriber);

  // For the watcher.
  void replace(std::vector<Decoded<T>> items);
  void apply(Change<T> change);

 private:
  void publish(const std::vector<Difference<T>>& differences);
  void take(const std::map<ObjectKey, Snapshot<T>>& old, Decoded<T> item);
  void compare(const ObjectKey& key, Snapshot<T> before, Snapshot<T> after,
               std::vector<Difference<T>>& gone, std::vector<Difference<T>>& come) const;

  std::map<ObjectKey, Snapshot<T>> objects_;
  std::map<ObjectKey, std::string> unreadable_;
  std::vector<Subscriber> subscribers_;
  Signal synced_;
};

}  // namespace isthmus::kube

#include "isthmus/kube/store_impl.h"
