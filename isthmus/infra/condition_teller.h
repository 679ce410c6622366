// The conditions of one status, as they are worked out: what all of them have alike is said once.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "isthmus/base/clock.h"
#include "isthmus/infra/api/object.h"

namespace isthmus::infra {

// A condition without the fields that all of a status have alike.
struct Said {
  api::ConditionStatus status;
  std::string_view reason;
  std::string message;
};

// A value; what it writes to outlives it.
class ConditionTeller {
 public:
  ConditionTeller(std::vector<api::Condition>& conditions, std::uint64_t generation, WallTime now)
      : conditions_(conditions), generation_(generation), now_(now) {}

  void operator()(std::string_view type, const Said& said) const {
    api::set(conditions_, {.type = std::string(type),
                           .status = said.status,
                           .reason = std::string(said.reason),
                           .message = said.message,
                           .last_transition = now_,
                           .observed_generation = generation_});
  }

 private:
  std::vector<api::Condition>& conditions_;
  std::uint64_t generation_;
  WallTime now_;
};

}  // namespace isthmus::infra
