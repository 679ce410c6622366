#include "isthmus/app/run_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string_view>
#include <utility>
#include <vector>

#include "isthmus/app/run_flags_impl.h"

namespace isthmus::app {

FlagTable run_flags(RunOptions& options) {
  return run_flags(options, "isthmus run [flags]",
                   "Runs the cloud controller manager against a Kubernetes API server.");
}

FlagTable run_flags(RunOptions& options, std::string usage, std::string description) {
  FlagTable table(std::move(usage), std::move(description));
  add_generic_flags(table, options.generic);
  add_election_flags(table, options.election);
  add_safety_flags(table, options.safety);
  add_migration_flags(table, options.migration);
  add_node_flags(table, options.node);
  add_lifecycle_flags(table, options.lifecycle);
  add_service_flags(table, options.service);
  add_route_flags(table, options.route);
  add_serving_flags(table, options.serving);
  add_authentication_flags(table, options.authentication);
  add_authorization_flags(table, options.authorization);
  add_log_flags(table, options.logs);
  add_compatibility_flags(table, options.compatibility);
  add_refused_flags(table, options.refused);
  return table;
}

std::string without_effect_in_dry_run(const RunOptions& options) {
  if (!options.generic.dry_run) return {};
  std::vector<std::string_view> flags;
  // Tokens of other accounts would have to be made, and a lease would have to be taken.
  if (options.generic.use_service_account_credentials) {
    flags.emplace_back("--use-service-account-credentials");
  }
  if (options.migration.enable_leader_migration) flags.emplace_back("--enable-leader-migration");
  return fmt::format("{}", fmt::join(flags, ", "));
}

void find_contradictions(const RunOptions& options, Mistakes& mistakes) {
  check_generic_flags(options.generic, mistakes);
  check_election_flags(options.election, mistakes);
  check_safety_flags(options.safety, mistakes);
  check_migration_flags(options.migration, options.election, mistakes);
  check_node_flags(options.node, mistakes);
  check_lifecycle_flags(options.lifecycle, mistakes);
  check_route_flags(options.route, mistakes);
  check_serving_flags(options.serving, mistakes);
  check_authorization_flags(options.authorization, mistakes);
  check_log_flags(options.logs, options.generic.feature_gates, mistakes);
  check_compatibility_flags(options.compatibility, options.serving, mistakes);
  check_refused_flags(options.refused, mistakes);
}

}  // namespace isthmus::app
