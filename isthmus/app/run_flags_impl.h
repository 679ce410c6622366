// The groups of flags of `isthmus run`, each in a file of its own: run_flags_<group>.cc. A group
// has
//   add_…     which puts its rows into the table,
//   check_…   which names what no single row can know, where there is such a thing,
//   …_options which says the same in the words of the controller it is for, where there is one.
// Besides these files, only run_options.cc, run_setup.cc and serving_setup.cc include this.
#pragma once

#include <cstdint>
#include <string_view>

#include "isthmus/app/flags.h"
#include "isthmus/app/run_flags.h"
#include "isthmus/base/mistakes.h"
#include "isthmus/controllers/node.h"
#include "isthmus/controllers/node_lifecycle.h"
#include "isthmus/controllers/route.h"
#include "isthmus/controllers/service.h"
#include "isthmus/net/http_server.h"
#include "isthmus/net/tls_policy.h"

namespace isthmus::app {

// Coroutines are cheap, but each may hold a call: a thousand at once is what an API server stands.
inline constexpr std::int64_t kWorkersMax = 1000;
inline constexpr std::int64_t kPortMax = 65535;

void add_generic_flags(FlagTable& table, GenericFlags& flags);
void check_generic_flags(const GenericFlags& flags, Mistakes& mistakes);

void add_election_flags(FlagTable& table, ElectionFlags& flags);
void check_election_flags(const ElectionFlags& flags, Mistakes& mistakes);

void add_safety_flags(FlagTable& table, SafetyFlags& flags);
void check_safety_flags(const SafetyFlags& flags, Mistakes& mistakes);

void add_migration_flags(FlagTable& table, MigrationFlags& flags);
void check_migration_flags(const MigrationFlags& flags, const ElectionFlags& election,
                           Mistakes& mistakes);

void add_node_flags(FlagTable& table, NodeFlags& flags);
void check_node_flags(const NodeFlags& flags, Mistakes& mistakes);
controllers::NodeControllerOptions node_options(const NodeFlags& flags, Mistakes& mistakes);

void add_lifecycle_flags(FlagTable& table, LifecycleFlags& flags);
void check_lifecycle_flags(const LifecycleFlags& flags, Mistakes& mistakes);
controllers::NodeLifecycleOptions lifecycle_options(const LifecycleFlags& flags);

void add_service_flags(FlagTable& table, ServiceFlags& flags);
controllers::ServiceControllerOptions service_options(const ServiceFlags& flags,
                                                      Mistakes& mistakes);

void add_route_flags(FlagTable& table, RouteFlags& flags);
void check_route_flags(const RouteFlags& flags, Mistakes& mistakes);
controllers::RouteControllerOptions route_options(const RouteFlags& flags);

void add_serving_flags(FlagTable& table, ServingFlags& flags);
void check_serving_flags(const ServingFlags& flags, Mistakes& mistakes);
// Those that begin with the prefix. They are judged whether their port is opened or not.
void check_tls_flags(std::string_view prefix, const TlsFlags& flags, Mistakes& mistakes);
// Both of flags that were checked.
net::TlsPolicy tls_policy(const ServingFlags& flags);
net::ListenAddress listen_address(const ServingFlags& flags);

void add_authentication_flags(FlagTable& table, AuthenticationFlags& flags);

void add_authorization_flags(FlagTable& table, AuthorizationFlags& flags);
void check_authorization_flags(const AuthorizationFlags& flags, Mistakes& mistakes);

void add_log_flags(FlagTable& table, LogFlags& flags);
void check_log_flags(const LogFlags& flags, const FeatureGates& gates, Mistakes& mistakes);

void add_compatibility_flags(FlagTable& table, CompatibilityFlags& flags);
void check_compatibility_flags(const CompatibilityFlags& flags, const ServingFlags& serving,
                               Mistakes& mistakes);

void add_refused_flags(FlagTable& table, RefusedFlags& flags);
void check_refused_flags(const RefusedFlags& flags, Mistakes& mistakes);

}  // namespace isthmus::app
