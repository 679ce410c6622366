// Which operation of the API a method and path ask for, as a plain function.
#pragma once

#include <cstdint>
#include <expected>
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
    get_openapi,
    get_livez,
    get_readyz,
    get_metrics,
  };
  Operation operation;
  Caller::Role needs;  // The least a caller must be; an admin may do all.
  std::string uid;     // Of the instance operations, decoded.
};

// The operationId in openapi.yaml.
std::string_view to_string(Route::Operation operation);

struct NoRoute {
  api::Problem problem;
  std::string allow;  // With method-not-allowed: the methods the path has, "GET, PUT".
};

// `path` is still percent-encoded and without a query. path-not-found, method-not-allowed, or
// invalid-request for a uid that cannot be one.
std::expected<Route, NoRoute> find_route(std::string_view method, std::string_view path);

}  // namespace isthmus::infra
