#include "isthmus/controllers/heartbeats.h"

#include <algorithm>

namespace isthmus::controllers {

std::optional<Duration> HeartbeatList::silence(std::string_view node) const {
  if (unreadable.contains(node)) return std::nullopt;
  Moment since = looking_since;
  if (const auto lease = leases.find(node); lease != leases.end()) {
    since = lease->second.silent_since;
  } else if (const auto gone = vanished.find(node); gone != vanished.end()) {
    since = gone->second;
  }
  return std::max(as_of - since, Duration::zero());
}

bool HeartbeatList::is_renewed_after(std::string_view node, Moment moment) const {
  const auto lease = leases.find(node);
  return lease != leases.end() && lease->second.renewed_after &&
         *lease->second.renewed_after >= moment;
}

}  // namespace isthmus::controllers
