// What a dry run answers: the Plan of openapi.yaml.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "isthmus/base/ip.h"
#include "isthmus/base/result.h"

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

  friend bool operator==(const DryRun&, const DryRun&) = default;
};

std::string encode(const DryRun& plan);

// Reads an answer of the server; what is not known is passed over. Lost: not JSON, not this kind,
// an effect we do not know, or a required member missing or ill-typed.
Result<DryRun> decode_dry_run(std::string_view json);

}  // namespace isthmus::infra::api
