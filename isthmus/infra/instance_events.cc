#include "isthmus/infra/instance_events.h"

namespace isthmus::infra {

Task<Result<std::vector<api::WatchEvent>>> InstanceEvents::events_of(Changes changes,
                                                                     Revision before) {
  std::vector<api::WatchEvent> events;
  Revision done = before;
  for (std::size_t i = 0; i < changes.changes.size(); ++i) {
    const Change& change = changes.changes[i];
    bool last =
        i + 1 == changes.changes.size() || changes.changes[i + 1].revision != change.revision;
    if (last) done = change.revision;
    if (!change.value) continue;  // We never delete a record.
    InstanceRecord record = CO_TRY(decode_record(*change.value, change.revision));
    api::WatchEvent event;
    event.type =
        record.is_retired() ? api::WatchEvent::Type::removed : api::WatchEvent::Type::changed;
    event.revision = done;
    event.instance = instances_.shown(record);
    events.push_back(std::move(event));
  }
  co_return events;
}

}  // namespace isthmus::infra
