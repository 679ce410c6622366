// A map of records that is cheap to copy: copies share what they hold until one of them changes.
//
// A snapshot of thousands of load balancers is taken for every request and kept for as long as
// somebody looks at it; meanwhile the next one differs in a record or two.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <utility>

namespace isthmus::infra {

// Read like a std::map from Key to a shared, immutable Record. What changes it invalidates the
// iterators into this copy, and leaves every other copy as it is.
template <class Key, class Record>
class RecordMap {
 public:
  using Map = std::map<Key, std::shared_ptr<const Record>, std::less<>>;
  using value_type = typename Map::value_type;
  using const_iterator = typename Map::const_iterator;
  using iterator = const_iterator;

  const_iterator begin() const { return map().begin(); }
  const_iterator end() const { return map().end(); }
  std::size_t size() const { return map().size(); }
  bool empty() const { return map().empty(); }

  template <class Like>
  const_iterator find(const Like& key) const {
    return map().find(key);
  }
  template <class Like>
  bool contains(const Like& key) const {
    return map().contains(key);
  }
  template <class Like>
  const_iterator lower_bound(const Like& key) const {
    return map().lower_bound(key);
  }
  template <class Like>
  const_iterator upper_bound(const Like& key) const {
    return map().upper_bound(key);
  }

  // nullptr where there is none.
  template <class Like>
  const Record* look_up(const Like& key) const {
    auto found = map().find(key);
    return found == map().end() ? nullptr : found->second.get();
  }

  // To be written to.
  std::shared_ptr<const Record>& operator[](Key key) { return own()[std::move(key)]; }

  void erase(const Key& key) {
    if (contains(key)) own().erase(key);
  }

  // True: nothing can differ, without a look at the records.
  bool is_same_as(const RecordMap& other) const { return map_ == other.map_; }

 private:
  const Map& map() const {
    static const Map kEmpty;
    return map_ == nullptr ? kEmpty : *map_;
  }
  Map& own() {
    if (map_ == nullptr) {
      map_ = std::make_shared<Map>();
    } else if (map_.use_count() > 1) {
      map_ = std::make_shared<Map>(*map_);
    }
    return *map_;
  }

  std::shared_ptr<Map> map_;
};

}  // namespace isthmus::infra
