// A map that forgets what was not used for longest.
#pragma once

#include <cstddef>
#include <list>
#include <map>
#include <utility>

#include "isthmus/base/result.h"

namespace isthmus::kube {

template <class Key, class Value>
class Lru {
 public:
  explicit Lru(std::size_t entries_max) : entries_max_(entries_max) {
    ISTHMUS_ASSERT(entries_max > 0, "a memory of nothing");
  }

  // The value of the key, made if there is none; it is the youngest now. Borrowed until the next
  // call.
  Value& touch(const Key& key) {
    const auto known = places_.find(key);
    if (known != places_.end()) {
      entries_.splice(entries_.begin(), entries_, known->second);
      return entries_.front().second;
    }
    if (entries_.size() == entries_max_) {
      places_.erase(entries_.back().first);
      entries_.pop_back();
    }
    entries_.emplace_front(key, Value{});
    places_.emplace(key, entries_.begin());
    return entries_.front().second;
  }

  // The value of the key, or null; its age stays as it is. Borrowed until the next call.
  Value* find(const Key& key) {
    const auto known = places_.find(key);
    return known == places_.end() ? nullptr : &known->second->second;
  }

  std::size_t size() const { return entries_.size(); }

 private:
  using Entries = std::list<std::pair<Key, Value>>;

  const std::size_t entries_max_;
  Entries entries_;  // The youngest first.
  std::map<Key, typename Entries::iterator> places_;
};

}  // namespace isthmus::kube
