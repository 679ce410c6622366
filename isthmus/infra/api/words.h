// Words of the API and what they stand for: a small table for each enum, read in both directions.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

namespace isthmus::infra::api {

template <class Value, std::size_t count>
using Words = std::array<std::pair<Value, std::string_view>, count>;

// Empty for a value that has no word.
template <class Value, std::size_t count>
std::string_view word_of(const Words<Value, count>& words, Value value) {
  for (const auto& [known, word] : words) {
    if (known == value) return word;
  }
  return "";
}

// Nothing for a word that is not in the table.
template <class Value, std::size_t count>
std::optional<Value> value_of(const Words<Value, count>& words, std::string_view text) {
  for (const auto& [value, word] : words) {
    if (word == text) return value;
  }
  return std::nullopt;
}

}  // namespace isthmus::infra::api
