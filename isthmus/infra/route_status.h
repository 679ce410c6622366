// What a route table's status says: a plain function from what was found to conditions with stable
// reasons and messages that name the next step.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "isthmus/infra/api/route_table.h"
#include "isthmus/infra/balancer_status.h"
#include "isthmus/infra/ledger_records.h"

namespace isthmus::infra {

// The reasons of Programmed, beside its own name and reason::pending.
namespace reason {
inline constexpr std::string_view routes_pending = "RoutesPending";
inline constexpr std::string_view route_conflict = "RouteConflict";
inline constexpr std::string_view routes_failed = "RoutesFailed";
}  // namespace reason

struct RouteFindings {
  std::uint64_t applied_generation = 0;
  std::vector<api::RouteStatus> not_applied;  // In the order of the table's routes.
  std::optional<std::string> failure;         // Why the host's routes cannot be read or written.
  std::optional<std::string> not_forwarded;  // Why the host forwards no packets of a family it has.
  std::vector<api::OrphanRoute> orphans = {};
};

// `before` is the status so far, of which the times of conditions that do not change are kept.
api::RouteTableStatus status_of(const RouteTableRecord& record, RouteFindings findings,
                                const api::RouteTableStatus& before, WallTime now);

}  // namespace isthmus::infra
