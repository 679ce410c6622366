// The changes of machines, for GET /v1/watch.
#pragma once

#include "isthmus/infra/event_source.h"
#include "isthmus/infra/instances.h"

namespace isthmus::infra {

// The machines outlive it.
class InstanceEvents final : public EventSource {
 public:
  explicit InstanceEvents(const Instances& instances) : instances_(instances) {}

  std::string_view prefix() const override { return kInstancePrefix; }
  Task<Result<std::vector<api::WatchEvent>>> events_of(Changes changes, Revision before) override;

 private:
  const Instances& instances_;
};

}  // namespace isthmus::infra
