// A map that forgets what was not used for longest.
#pragma once

#include <cstddef>
#include <list>
#include <map>

#include "isthmus/base/result.h"

namespace isthmus::kube {

template <class Key, class Value>
class Lru {
 public:
  explicit Lru(std::size_t entries_max) : entries_max_(entries_max) {
    ISTHMUS_ASSERT(entries_max > 0, "a memory of nothing");
  }
  Lru(const Lru&) = delete;  // The order borrows the keys.
  Lru& operator=(const Lru&) = delete;

  // The value of the key, made if there is none; it is the youngest now. Borrowed until the next
  // call.
  Value& touch(const Key& key) {
    if (const auto known = entries_.find(key); known != entries_.end()) {
      order_.splice(order_.begin(), order_, known->second.place);
      return known->second.value;
    }
    if (entries_.size() == entries_max_) {
      entries_.erase(entries_.find(*order_.back()));
      order_.pop_back();
    }
    const auto added = entries_.try_emplace(key).first;
    order_.push_front(&added->first);
    added->second.place = order_.begin();
    return added->second.value;
  }

  // The value of the key, or null; its age stays as it is. Borrowed until the next call.
  Value* find(const Key& key) {
    const auto known = entries_.find(key);
    return known == entries_.end() ? nullptr : &known->second.value;
  }

  void forget(const Key& key) {
    const auto known = entries_.find(key);
    if (known == entries_.end()) return;
    order_.erase(known->second.place);
    entries_.erase(known);
  }

  std::size_t size() const { return entries_.size(); }

 private:
  using Order = std::list<const Key*>;
  struct Entry {
    Value value = {};
    typename Order::iterator place = {};
  };

  const std::size_t entries_max_;
  std::map<Key, Entry> entries_;
  Order order_;  // Borrows the keys; the youngest first.
};

}  // namespace isthmus::kube
