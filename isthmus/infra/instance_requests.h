// The body of a request about a machine, understood; object_requests.h reads all else of it. Plain
// functions without IO.
#pragma once

#include <cstddef>
#include <expected>
#include <string>

#include "isthmus/infra/api/instance.h"
#include "isthmus/infra/api/problem.h"
#include "isthmus/net/http.h"

namespace isthmus::infra {

// 64 addresses and 64 labels of full length take 60 KB.
inline constexpr std::size_t kInstanceBodyMax = 256 * 1024;

// The body of a PUT: body-too-large, unsupported-media-type, invalid-request (no JSON) or
// invalid-spec with every wrong field.
std::expected<api::Instance, api::Problem> read_instance_body(const net::Request& request,
                                                              const std::string& uid);

}  // namespace isthmus::infra
