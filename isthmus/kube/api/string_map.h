// A small map of text to text, for labels and annotations: a sorted vector, because a cluster holds
// thousands of these with a dozen entries each and a tree would cost twice the memory.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace isthmus::kube {

// A value. Iterates over pairs {key, value} in byte order of the keys.
class StringMap {
 public:
  using Entry = std::pair<std::string, std::string>;

  StringMap() = default;
  StringMap(std::initializer_list<Entry> entries);

  // The value of a key, borrowed until the map changes; nullopt when there is none.
  std::optional<std::string_view> find(std::string_view key) const;
  bool contains(std::string_view key) const { return find(key).has_value(); }

  // Adds the key or replaces its value.
  void set(std::string_view key, std::string value);

  // Harmless when there is no such key.
  void erase(std::string_view key);

  // Gives back memory that growing has reserved; for maps that will be kept.
  void shrink_to_fit() { entries_.shrink_to_fit(); }

  std::size_t size() const { return entries_.size(); }
  bool empty() const { return entries_.empty(); }
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }

  friend bool operator==(const StringMap&, const StringMap&) = default;

 private:
  std::vector<Entry> entries_;  // Sorted by key, each key once.
};

}  // namespace isthmus::kube
