#include "isthmus/infra/routes.h"

#include <fmt/format.h>

#include <array>
#include <utility>
#include <vector>

#include "isthmus/base/text.h"
#include "isthmus/infra/api/rules.h"
#include "isthmus/net/http.h"

namespace isthmus::infra {
namespace {

using Operation = Route::Operation;
using Role = Caller::Role;

struct Row {
  std::string_view method;
  std::string_view path;  // "{…}" stands for one segment, which goes into the Route.
  Operation operation;
  Role needs;
  std::string_view id;
};

constexpr std::string_view kBalancers = "/v1/owners/{owner}/loadbalancers";
constexpr std::string_view kBalancer = "/v1/owners/{owner}/loadbalancers/{name}";
constexpr std::string_view kTargetSets = "/v1/owners/{owner}/targetsets";
constexpr std::string_view kTargetSet = "/v1/owners/{owner}/targetsets/{name}";
constexpr std::string_view kRouteTables = "/v1/owners/{owner}/routetables";
constexpr std::string_view kRouteTable = "/v1/owners/{owner}/routetables/{name}";
constexpr std::string_view kAddresses = "/v1/owners/{owner}/addresses";
constexpr std::string_view kWatch = "/v1/owners/{owner}/watch";
constexpr std::string_view kOrphan = "/v1/orphans/{owner}/{name}";

constexpr std::array kRows = {
    Row{"GET", "/v1", Operation::get_server_info, Role::owner, "getServerInfo"},
    Row{"GET", "/v1/instances", Operation::list_instances, Role::owner, "listInstances"},
    Row{"GET", "/v1/instances/{uid}", Operation::get_instance, Role::owner, "getInstance"},
    Row{"PUT", "/v1/instances/{uid}", Operation::put_instance, Role::admin, "putInstance"},
    Row{"DELETE", "/v1/instances/{uid}", Operation::delete_instance, Role::admin, "deleteInstance"},
    Row{"GET", "/v1/watch", Operation::watch, Role::owner, "watch"},
    Row{"GET", kBalancers, Operation::list_load_balancers, Role::owner, "listLoadBalancers"},
    Row{"GET", kBalancer, Operation::get_load_balancer, Role::owner, "getLoadBalancer"},
    Row{"PUT", kBalancer, Operation::put_load_balancer, Role::owner, "putLoadBalancer"},
    Row{"DELETE", kBalancer, Operation::delete_load_balancer, Role::owner, "deleteLoadBalancer"},
    Row{"GET", kTargetSets, Operation::list_target_sets, Role::owner, "listTargetSets"},
    Row{"GET", kTargetSet, Operation::get_target_set, Role::owner, "getTargetSet"},
    Row{"PUT", kTargetSet, Operation::put_target_set, Role::owner, "putTargetSet"},
    Row{"DELETE", kTargetSet, Operation::delete_target_set, Role::owner, "deleteTargetSet"},
    Row{"GET", kRouteTables, Operation::list_route_tables, Role::owner, "listRouteTables"},
    Row{"GET", kRouteTable, Operation::get_route_table, Role::owner, "getRouteTable"},
    Row{"PUT", kRouteTable, Operation::put_route_table, Role::owner, "putRouteTable"},
    Row{"DELETE", kRouteTable, Operation::delete_route_table, Role::owner, "deleteRouteTable"},
    Row{"GET", kAddresses, Operation::list_addresses, Role::owner, "listAddresses"},
    Row{"GET", kWatch, Operation::watch_owner, Role::owner, "watchOwner"},
    Row{"GET", "/v1/owners", Operation::list_owners, Role::owner, "listOwners"},
    Row{"GET", "/v1/pools", Operation::list_pools, Role::owner, "listPools"},
    Row{"GET", "/v1/pools/{name}", Operation::get_pool, Role::owner, "getPool"},
    Row{"GET", "/v1/orphans", Operation::list_orphans, Role::admin, "listOrphans"},
    Row{"DELETE", kOrphan, Operation::delete_orphan, Role::admin, "deleteOrphan"},
    Row{"GET", "/openapi.json", Operation::get_openapi, Role::nobody, "getOpenapi"},
    Row{"GET", "/livez", Operation::get_livez, Role::nobody, "getLivez"},
    Row{"GET", "/readyz", Operation::get_readyz, Role::nobody, "getReadyz"},
    Row{"GET", "/metrics", Operation::get_metrics, Role::nobody, "getMetrics"},
};

// A parameter of a row and the segment that stands for it, still encoded.
using Segments = std::vector<std::pair<std::string_view, std::string_view>>;

// Nothing when the path is not the row's.
std::optional<Segments> fits(std::string_view path, std::string_view row) {
  const std::vector<std::string_view> found = split(path, '/');
  const std::vector<std::string_view> wanted = split(row, '/');
  if (found.size() != wanted.size()) return std::nullopt;
  Segments segments;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (!wanted[i].starts_with('{')) {
      if (found[i] != wanted[i]) return std::nullopt;
    } else if (found[i].empty()) {
      return std::nullopt;
    } else {
      segments.emplace_back(wanted[i].substr(1, wanted[i].size() - 2), found[i]);
    }
  }
  return segments;
}

std::optional<std::string> wrong(std::string_view parameter, std::string_view text) {
  if (parameter == "uid") return api::wrong_uid(text);
  return parameter == "owner" ? api::wrong_name(text) : api::wrong_object_name(text);
}

std::expected<Route, NoRoute> with_segments(const Row& row, const Segments& segments) {
  Route route{row.operation, row.needs, "", "", ""};
  std::vector<api::FieldError> errors;
  for (const auto& [parameter, segment] : segments) {
    std::optional<std::string> text = net::percent_decode(segment);
    auto mistake = text ? wrong(parameter, *text) : "expected percent-encoded UTF-8";
    if (mistake) {
      errors.push_back(
          {std::string(parameter), fmt::format("{}, found {}", *mistake, quoted(segment))});
      continue;
    }
    std::string& place = parameter == "uid"     ? route.uid
                         : parameter == "owner" ? route.owner
                                                : route.name;
    place = std::move(*text);
  }
  if (errors.empty()) return route;
  api::Problem problem = api::make_problem(api::problem::invalid_request, "the path is wrong");
  problem.errors = std::move(errors);
  return std::unexpected(NoRoute{std::move(problem), ""});
}

}  // namespace

std::string_view to_string(Operation operation) {
  for (const Row& row : kRows) {
    if (row.operation == operation) return row.id;
  }
  return "unknown";
}

std::expected<Route, NoRoute> find_route(std::string_view method, std::string_view path) {
  std::string allow;
  for (const Row& row : kRows) {
    std::optional<Segments> segments = fits(path, row.path);
    if (!segments) continue;
    if (row.method == method) return with_segments(row, *segments);
    allow += fmt::format("{}{}", allow.empty() ? "" : ", ", row.method);
  }
  if (allow.empty()) {
    return std::unexpected(
        NoRoute{api::make_problem(api::problem::path_not_found,
                                  "there is nothing at this path; /openapi.json names them all"),
                ""});
  }
  return std::unexpected(NoRoute{
      api::make_problem(api::problem::method_not_allowed, fmt::format("the path has {}", allow)),
      allow});
}

std::optional<api::Problem> why_not_yours(const Route& route, const Caller& caller) {
  const bool may = route.owner.empty() || caller.role == Role::admin || caller.name == route.owner;
  if (may) return std::nullopt;
  return api::make_problem(
      api::problem::not_owner,
      fmt::format("this is of the owner {}; you are {}", route.owner, caller.name));
}

}  // namespace isthmus::infra
