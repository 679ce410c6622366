#include "isthmus/infra/routes.h"

#include <fmt/format.h>

#include <array>
#include <optional>

#include "isthmus/base/text.h"
#include "isthmus/infra/api/rules.h"
#include "isthmus/net/http.h"

namespace isthmus::infra {
namespace {

using Operation = Route::Operation;
using Role = Caller::Role;

struct Row {
  std::string_view method;
  std::string_view path;  // "{uid}" stands for one segment.
  Operation operation;
  Role needs;
  std::string_view id;
};

constexpr std::array kRows = {
    Row{"GET", "/v1", Operation::get_server_info, Role::owner, "getServerInfo"},
    Row{"GET", "/v1/instances", Operation::list_instances, Role::owner, "listInstances"},
    Row{"GET", "/v1/instances/{uid}", Operation::get_instance, Role::owner, "getInstance"},
    Row{"PUT", "/v1/instances/{uid}", Operation::put_instance, Role::admin, "putInstance"},
    Row{"DELETE", "/v1/instances/{uid}", Operation::delete_instance, Role::admin, "deleteInstance"},
    Row{"GET", "/v1/watch", Operation::watch, Role::owner, "watch"},
    Row{"GET", "/openapi.json", Operation::get_openapi, Role::nobody, "getOpenapi"},
    Row{"GET", "/livez", Operation::get_livez, Role::nobody, "getLivez"},
    Row{"GET", "/readyz", Operation::get_readyz, Role::nobody, "getReadyz"},
    Row{"GET", "/metrics", Operation::get_metrics, Role::nobody, "getMetrics"},
};

// The segment that stands for "{uid}" (empty where the row has none), or nothing when the path is
// not the row's.
std::optional<std::string_view> fits(std::string_view path, std::string_view row) {
  constexpr std::string_view kUid = "{uid}";
  if (!row.ends_with(kUid)) return path == row ? std::optional<std::string_view>("") : std::nullopt;
  std::string_view before = row.substr(0, row.size() - kUid.size());
  if (!path.starts_with(before)) return std::nullopt;
  std::string_view segment = path.substr(before.size());
  if (segment.empty() || segment.find('/') != std::string_view::npos) return std::nullopt;
  return segment;
}

std::expected<Route, NoRoute> with_uid(const Row& row, std::string_view segment) {
  Route route{row.operation, row.needs, ""};
  if (segment.empty()) return route;
  std::optional<std::string> uid = net::percent_decode(segment);
  auto wrong = uid ? api::wrong_uid(*uid) : "expected percent-encoded UTF-8";
  if (wrong) {
    api::Problem problem = api::make_problem(api::problem::invalid_request, "the path is wrong");
    problem.errors = {{"uid", fmt::format("{}, found {}", *wrong, quoted(segment))}};
    return std::unexpected(NoRoute{std::move(problem), ""});
  }
  route.uid = std::move(*uid);
  return route;
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
    std::optional<std::string_view> segment = fits(path, row.path);
    if (!segment) continue;
    if (row.method == method) return with_uid(row, *segment);
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

}  // namespace isthmus::infra
