// What a dry run answers: the Plan of openapi.yaml.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "isthmus/base/ip.h"

namespace isthmus::infra::api {

// One difference between what stands and what would.
struct PlannedChange {
  std::string pointer;  // Into the object (RFC 6901).
  std::string from;     // Both as JSON; empty where there is none.
  std::string to;

  friend bool operator==(const PlannedChange&, const PlannedChange&) = default;
};

struct DryRun {
  enum class Effect : std::uint8_t { created, changed, unchanged, deleted };
  Effect effect = Effect::unchanged;
  std::string object;  // As it would stand, as JSON. Of a deletion, the one that would go.
  std::vector<IpAddress> addresses;  // That a load balancer would hold.
  std::vector<PlannedChange> changes;
};

std::string encode(const DryRun& plan);

}  // namespace isthmus::infra::api
