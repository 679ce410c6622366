#include "isthmus/infra/api/object.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "isthmus/infra/api/words.h"

namespace isthmus::infra::api {

std::string_view to_string(ConditionStatus status) {
  static constexpr Words<ConditionStatus, 3> kWords = {{
      {ConditionStatus::unknown, "Unknown"},
      {ConditionStatus::is_true, "True"},
      {ConditionStatus::is_false, "False"},
  }};
  return word_of(kWords, status);
}

const Condition* find(const std::vector<Condition>& conditions, std::string_view type) {
  auto found = std::ranges::find(conditions, type, &Condition::type);
  return found == conditions.end() ? nullptr : &*found;
}

void set(std::vector<Condition>& conditions, Condition condition) {
  condition.last_transition =
      WallTime(std::chrono::floor<std::chrono::microseconds>(condition.last_transition));
  auto found = std::ranges::find(conditions, condition.type, &Condition::type);
  if (found == conditions.end()) {
    conditions.push_back(std::move(condition));
    return;
  }
  if (found->status == condition.status) condition.last_transition = found->last_transition;
  *found = std::move(condition);
}

}  // namespace isthmus::infra::api
