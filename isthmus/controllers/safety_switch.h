// What people may tell a running manager in a hurry, without restarting it: stop everything, or let
// a held batch of deletions pass. Who asks sees only this; where the words come from is in
// safety_config_map.h.
#pragma once

#include <string_view>

#include "isthmus/base/clock.h"

namespace isthmus::controllers {

class SafetySwitch {
 public:
  virtual ~SafetySwitch() = default;

  // Nothing may be changed now, neither in Kubernetes nor in a cloud. Also while it is not known
  // yet what people have said. Nobody has to ask before writing: the doors refuse by themselves.
  // Ask in order to say so instead of failing.
  virtual bool mutations_stopped() const = 0;

  // Somebody has acknowledged the breaker with exactly this id, within the hour before `now`. An id
  // names one incident, so that yesterday's word does not open today's breaker; it has neither
  // white space nor '@'.
  virtual bool is_acknowledged(std::string_view breaker_id, WallTime now) const = 0;
};

}  // namespace isthmus::controllers
