// Which operation of the API a method and path ask for, as a plain function.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "isthmus/infra/access.h"
#include "isthmus/infra/api/problem.h"

namespace isthmus::infra {

struct Route {
  enum class Operation : std::uint8_t {
    get_server_info,
    list_instances,
    get_instance,
    put_instance,
    delete_instance,
    watch,
    list_load_balancers,
    get_load_balancer,
    put_load_balancer,
    delete_load_balancer,
    list_target_sets,
    get_target_set,
    put_target_set,
    delete_target_set,
    list_route_tables,
    get_route_table,
    put_route_table,
    delete_route_table,
    list_addresses,
    watch_owner,
    list_owners,
    list_pools,
    get_pool,
    list_orphans,
    delete_orphan,
    get_openapi,
    get_livez,
    get_readyz,
    get_metrics,
  };
  Operation operation;
  Caller::Role needs;  // The least a caller must be; an admin may do all.
  std::string uid;     // Of the instance operations, decoded.
  std::string owner;   // Of what lies under an owner, and of orphans; decoded like `name`.
  std::string name;    // Of one load balancer, target set, route table, pool or orphan.
};

// The operationId in openapi.yaml.
std::string_view to_string(Route::Operation operation);

struct NoRoute {
  api::Problem problem;
  std::string allow;  // With method-not-allowed: the methods the path has, "GET, PUT".
};

// `path` is still percent-encoded and without a query. path-not-found, method-not-allowed, or
// invalid-request for a uid, owner or name that cannot be one, all of them named.
std::expected<Route, NoRoute> find_route(std::string_view method, std::string_view path);

// Whose things the path is about is for the caller to be: not-owner where it is another owner's.
// An admin may all, and where the path names no owner there is nothing to check.
std::optional<api::Problem> why_not_yours(const Route& route, const Caller& caller);

}  // namespace isthmus::infra
