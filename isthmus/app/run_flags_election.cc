#include "isthmus/app/run_flags_impl.h"

#include <fmt/format.h>

#include "isthmus/kube/api/names.h"
#include "isthmus/kube/elector.h"

namespace isthmus::app {
namespace {

// The API server would answer 404 or 422 to anything else, for ever.
void require_name(std::string_view flag, const std::string& value, Mistakes& mistakes) {
  Result<> good = kube::check_dns_subdomain(value);
  if (!good) mistakes.add(flag, fmt::format("\"{}\": {}", value, good.error().message));
}

}  // namespace

void add_election_flags(FlagTable& table, ElectionFlags& flags) {
  const std::string group = "Leader election flags";
  table.boolean("leader-elect", flags.leader_elect, group,
                "Elect one leader among several managers; only the leader acts.");
  table.positive_duration("leader-elect-lease-duration", flags.lease_duration, group,
                          "How long others wait for a silent leader.");
  table.positive_duration("leader-elect-renew-deadline", flags.renew_deadline, group,
                          "How long a leader tries to renew before it gives up.");
  table.positive_duration("leader-elect-retry-period", flags.retry_period, group,
                          "Time between two tries.");
  table.text("leader-elect-resource-lock", flags.resource_lock, group,
             "Kind of the lock; only leases exists.");
  table.text("leader-elect-resource-name", flags.resource_name, group, "Name of the Lease.");
  table.text("leader-elect-resource-namespace", flags.resource_namespace, group,
             "Namespace of the Lease.");
}

void check_election_flags(const ElectionFlags& flags, Mistakes& mistakes) {
  if (!flags.leader_elect) return;
  if (flags.resource_lock != "leases") {
    mistakes.add("--leader-elect-resource-lock",
                 fmt::format("\"{}\" is not leases", flags.resource_lock));
  }
  require_name("--leader-elect-resource-name", flags.resource_name, mistakes);
  require_name("--leader-elect-resource-namespace", flags.resource_namespace, mistakes);
  kube::check_times({.lease = {},
                     .identity = {},
                     .lease_duration = flags.lease_duration,
                     .renew_deadline = flags.renew_deadline,
                     .retry_period = flags.retry_period},
                    mistakes);
}

}  // namespace isthmus::app
