#include "isthmus/infra/field_changes.h"

#include <algorithm>
#include <string_view>

namespace isthmus::infra {
namespace {

// As RFC 6901 writes a member's name in a pointer.
std::string escaped(std::string_view key) {
  std::string text;
  for (char c : key) {
    if (c == '~') {
      text += "~0";
    } else if (c == '/') {
      text += "~1";
    } else {
      text += c;
    }
  }
  return text;
}

void compare(const json::value* from, const json::value* to, const std::string& pointer,
             std::vector<api::PlannedChange>& changes);

void compare_objects(const json::object& from, const json::object& to, const std::string& pointer,
                     std::vector<api::PlannedChange>& changes) {
  for (const auto& member : from) {
    compare(&member.value(), to.if_contains(member.key()), pointer + "/" + escaped(member.key()),
            changes);
  }
  for (const auto& member : to) {
    if (from.contains(member.key())) continue;
    compare(nullptr, &member.value(), pointer + "/" + escaped(member.key()), changes);
  }
}

void compare_arrays(const json::array& from, const json::array& to, const std::string& pointer,
                    std::vector<api::PlannedChange>& changes) {
  for (std::size_t i = 0; i < std::max(from.size(), to.size()); ++i) {
    compare(i < from.size() ? &from[i] : nullptr, i < to.size() ? &to[i] : nullptr,
            pointer + "/" + std::to_string(i), changes);
  }
}

void compare(const json::value* from, const json::value* to, const std::string& pointer,
             std::vector<api::PlannedChange>& changes) {
  if (from != nullptr && to != nullptr) {
    if (*from == *to) return;
    if (from->is_object() && to->is_object()) {
      return compare_objects(from->get_object(), to->get_object(), pointer, changes);
    }
    if (from->is_array() && to->is_array()) {
      return compare_arrays(from->get_array(), to->get_array(), pointer, changes);
    }
  }
  changes.push_back({pointer, from == nullptr ? "" : compact_json(*from),
                     to == nullptr ? "" : compact_json(*to)});
}

}  // namespace

std::vector<api::PlannedChange> differences(const json::value& from, const json::value& to) {
  std::vector<api::PlannedChange> changes;
  compare(&from, &to, "", changes);
  return changes;
}

}  // namespace isthmus::infra
