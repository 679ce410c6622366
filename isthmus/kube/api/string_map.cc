#include "isthmus/kube/api/string_map.h"

#include <algorithm>

namespace isthmus::kube {
namespace {

bool comes_before(const StringMap::Entry& entry, std::string_view key) { return entry.first < key; }

}  // namespace

StringMap::StringMap(std::initializer_list<Entry> entries) {
  entries_.reserve(entries.size());
  for (const Entry& entry : entries) set(entry.first, entry.second);
}

std::optional<std::string_view> StringMap::find(std::string_view key) const {
  auto place = std::lower_bound(entries_.begin(), entries_.end(), key, comes_before);
  if (place == entries_.end() || place->first != key) return std::nullopt;
  return place->second;
}

void StringMap::set(std::string_view key, std::string value) {
  auto place = std::lower_bound(entries_.begin(), entries_.end(), key, comes_before);
  if (place != entries_.end() && place->first == key) {
    place->second = std::move(value);
  } else {
    entries_.emplace(place, std::string(key), std::move(value));
  }
}

void StringMap::erase(std::string_view key) {
  auto place = std::lower_bound(entries_.begin(), entries_.end(), key, comes_before);
  if (place != entries_.end() && place->first == key) entries_.erase(place);
}

}  // namespace isthmus::kube
