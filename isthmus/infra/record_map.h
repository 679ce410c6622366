// A map of records that is cheap to copy and to change: copies share what they hold until one of
// them changes, and then all of it but the few records beside the change.
//
// A snapshot of thousands of load balancers is taken for every request and kept for as long as
// somebody looks at it; meanwhile the next one differs in a record or two. The records lie in
// sorted chunks of at most kChunkMax, so that of 1,000 a change copies 64 and a list of 31 chunks,
// and whoever compares two copies looks at one chunk of each.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

namespace isthmus::infra {

// Read like a std::map from Key to a shared, immutable Record. What changes it invalidates the
// iterators into this copy, and leaves every other copy as it is.
template <class Key, class Record>
class RecordMap {
 public:
  using Shared = std::shared_ptr<const Record>;
  using value_type = std::pair<Key, Shared>;

  static constexpr std::size_t kChunkMax = 64;

 private:
  using Chunk = std::vector<value_type>;               // Sorted, and never empty.
  using Chunks = std::vector<std::shared_ptr<Chunk>>;  // One behind the other.

 public:
  class const_iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = RecordMap::value_type;
    using difference_type = std::ptrdiff_t;
    using pointer = const value_type*;
    using reference = const value_type&;

    const_iterator() = default;
    reference operator*() const { return (*(*chunks_)[chunk_])[at_]; }
    pointer operator->() const { return &**this; }
    const_iterator& operator++() {
      if (++at_ == (*chunks_)[chunk_]->size()) {
        at_ = 0;
        ++chunk_;
      }
      return *this;
    }
    const_iterator operator++(int) {
      const_iterator before = *this;
      ++*this;
      return before;
    }
    friend bool operator==(const const_iterator&, const const_iterator&) = default;

   private:
    friend RecordMap;
    const_iterator(const Chunks& chunks, std::size_t chunk, std::size_t at)
        : chunks_(&chunks), chunk_(chunk), at_(at) {}

    // Nothing: it stands inside a chunk, or at the end.
    const Chunk* begun() const {
      return at_ == 0 && chunk_ < chunks_->size() ? (*chunks_)[chunk_].get() : nullptr;
    }

    const Chunks* chunks_ = nullptr;
    std::size_t chunk_ = 0;
    std::size_t at_ = 0;
  };
  using iterator = const_iterator;

  RecordMap() = default;
  RecordMap(const RecordMap&) = default;
  RecordMap& operator=(const RecordMap&) = default;
  RecordMap(RecordMap&& other) noexcept
      : chunks_(std::move(other.chunks_)), size_(std::exchange(other.size_, 0)) {}
  RecordMap& operator=(RecordMap&& other) noexcept {
    chunks_ = std::move(other.chunks_);
    size_ = std::exchange(other.size_, 0);
    return *this;
  }
  ~RecordMap() = default;

  const_iterator begin() const { return {chunks(), 0, 0}; }
  const_iterator end() const { return {chunks(), chunks().size(), 0}; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  template <class Like>
  const_iterator lower_bound(const Like& key) const {
    const std::size_t chunk = chunk_for(key);
    if (chunk == chunks().size()) return end();
    return {chunks(), chunk, place_in(*chunks()[chunk], key)};
  }
  template <class Like>
  const_iterator upper_bound(const Like& key) const {
    const_iterator place = lower_bound(key);
    return is_at(place, key) ? ++place : place;
  }
  template <class Like>
  const_iterator find(const Like& key) const {
    const const_iterator place = lower_bound(key);
    return is_at(place, key) ? place : end();
  }
  template <class Like>
  bool contains(const Like& key) const {
    return is_at(lower_bound(key), key);
  }

  // nullptr where there is none.
  template <class Like>
  const Record* look_up(const Like& key) const {
    const const_iterator place = lower_bound(key);
    return is_at(place, key) ? place->second.get() : nullptr;
  }

  // To be written to, before anything else is done with the map.
  Shared& operator[](Key key) {
    Chunks& all = own(chunks_);
    std::size_t number = 0;
    if (all.empty()) {
      all.push_back(std::make_shared<Chunk>());
    } else {
      number = std::min(chunk_for(key), all.size() - 1);
    }
    std::size_t place = place_in(*all[number], key);
    const bool is_new = place == all[number]->size() || key < (*all[number])[place].first;
    if (is_new && all[number]->size() == kChunkMax) {
      split(all, number);
      if (place > kChunkMax / 2) {
        ++number;
        place -= kChunkMax / 2;
      }
    }
    Chunk& chunk = own(all[number]);
    if (is_new) {
      chunk.emplace(chunk.begin() + static_cast<std::ptrdiff_t>(place), std::move(key), nullptr);
      ++size_;
    }
    return chunk[place].second;
  }

  void erase(const Key& key) {
    const const_iterator place = find(key);
    if (place == end()) return;
    Chunks& all = own(chunks_);
    Chunk& chunk = own(all[place.chunk_]);
    chunk.erase(chunk.begin() + static_cast<std::ptrdiff_t>(place.at_));
    if (chunk.empty()) all.erase(all.begin() + static_cast<std::ptrdiff_t>(place.chunk_));
    --size_;
  }

  // True: nothing can differ, without a look at the records.
  bool is_same_as(const RecordMap& other) const { return chunks_ == other.chunks_; }

  // Calls, in the order of the keys, with each that has another record here than before, and that
  // record; nullptr where there is none any more. What both copies share is passed over as a whole.
  template <class Each>
  void for_each_difference(const RecordMap& before, Each each) const {
    if (is_same_as(before)) return;
    const Shared gone;
    const_iterator old_place = before.begin();
    const_iterator new_place = begin();
    while (old_place != before.end() || new_place != end()) {
      if (old_place.begun() != nullptr && old_place.begun() == new_place.begun()) {
        ++old_place.chunk_;
        ++new_place.chunk_;
        continue;
      }
      const bool only_old =
          new_place == end() || (old_place != before.end() && old_place->first < new_place->first);
      const bool only_new =
          !only_old && (old_place == before.end() || new_place->first < old_place->first);
      if (only_old) {
        each(old_place->first, gone);
      } else if (only_new || old_place->second != new_place->second) {
        each(new_place->first, new_place->second);
      }
      if (!only_new) ++old_place;
      if (!only_old) ++new_place;
    }
  }

 private:
  const Chunks& chunks() const {
    static const Chunks kNone;
    return chunks_ == nullptr ? kNone : *chunks_;
  }

  // The first chunk that ends with this key or a higher one.
  template <class Like>
  std::size_t chunk_for(const Like& key) const {
    const auto found = std::ranges::partition_point(
        chunks(), [&](const auto& chunk) { return chunk->back().first < key; });
    return static_cast<std::size_t>(found - chunks().begin());
  }
  template <class Like>
  static std::size_t place_in(const Chunk& chunk, const Like& key) {
    const auto found = std::ranges::partition_point(
        chunk, [&](const value_type& entry) { return entry.first < key; });
    return static_cast<std::size_t>(found - chunk.begin());
  }
  // Of what lower_bound() answered.
  template <class Like>
  bool is_at(const const_iterator& place, const Like& key) const {
    return place != end() && !(key < place->first);
  }

  // What nobody else looks at is changed in its place.
  template <class Part>
  static Part& own(std::shared_ptr<Part>& part) {
    if (part == nullptr) {
      part = std::make_shared<Part>();
    } else if (part.use_count() > 1) {
      part = std::make_shared<Part>(*part);
    }
    return *part;
  }
  static void split(Chunks& all, std::size_t number) {
    Chunk& lower = own(all[number]);
    const auto middle = lower.begin() + static_cast<std::ptrdiff_t>(kChunkMax / 2);
    auto upper = std::make_shared<Chunk>(std::make_move_iterator(middle),
                                         std::make_move_iterator(lower.end()));
    lower.erase(middle, lower.end());
    all.insert(all.begin() + static_cast<std::ptrdiff_t>(number) + 1, std::move(upper));
  }

  std::shared_ptr<Chunks> chunks_;
  std::size_t size_ = 0;
};

}  // namespace isthmus::infra
