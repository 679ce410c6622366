// What every object that belongs to an owner has beside its spec: metadata, and conditions in its
// status.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "isthmus/base/clock.h"

namespace isthmus::infra::api {

// `generation` counts the changes of what the writer said (labels, deletionProtection and spec): 1
// at first, and higher than any the kernel was seen to hold under the name. `revision` is the
// store's revision of the last change of any kind, also of the status.
struct Metadata {
  std::string owner;
  std::string name;  // Chosen by the writer; with the owner it is the identity.
  std::string uid;   // Given at creation; a name that is revived has a new one.
  std::map<std::string, std::string> labels;
  bool deletion_protection = false;  // DELETE is refused while it is set.
  std::uint64_t generation = 0;
  std::uint64_t revision = 0;
  std::optional<WallTime> deletion_requested_at = std::nullopt;

  friend bool operator==(const Metadata&, const Metadata&) = default;
};

enum class ConditionStatus : std::uint8_t { unknown, is_true, is_false };

// "Unknown", "True", "False".
std::string_view to_string(ConditionStatus status);

struct Condition {
  std::string type;
  ConditionStatus status = ConditionStatus::unknown;
  std::string reason;        // One word that programs may compare: PoolExhausted.
  std::string message;       // For people: who holds what, and the next step.
  WallTime last_transition;  // When the status last changed.
  std::uint64_t observed_generation = 0;

  friend bool operator==(const Condition&, const Condition&) = default;
};

// nullptr where there is none of the type.
const Condition* find(const std::vector<Condition>& conditions, std::string_view type);

// Puts the condition in the place of the one of its type, or adds it. The time of the last
// transition stays where the status does; a new one is cut to the microsecond, which is what the
// JSON form keeps.
void set(std::vector<Condition>& conditions, Condition condition);

}  // namespace isthmus::infra::api
