// core/v1 Event: a sentence for people, attached to an object.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "isthmus/kube/api/meta.h"

namespace isthmus::kube {

inline constexpr std::string_view kEventNormal = "Normal";
inline constexpr std::string_view kEventWarning = "Warning";

struct Event {
  static constexpr ResourceType resource{"v1", "Event", "events", true};

  ObjectMeta meta = {};
  ObjectReference involved = {};
  std::string type = {};  // kEventNormal or kEventWarning.
  std::string reason = {};
  std::string message = {};
  std::string component = {};   // source.component, and reportingComponent.
  std::string first_time = {};  // RFC 3339 in whole seconds: rfc3339 of base/clock.h.
  std::string last_time = {};
  std::int32_t count = 0;

  friend bool operator==(const Event&, const Event&) = default;
};

}  // namespace isthmus::kube
