// The bodies of requests about load balancers and target sets, understood. Plain functions.
#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "isthmus/infra/api/load_balancer.h"
#include "isthmus/infra/api/problem.h"
#include "isthmus/infra/api/target_set.h"
#include "isthmus/infra/ledger_records.h"
#include "isthmus/net/http.h"

namespace isthmus::infra {

// body-too-large, unsupported-media-type, invalid-request (no JSON), invalid-spec with every wrong
// field, or not-offered where all that is wrong is beyond this host's driver, by name.
std::expected<api::LoadBalancer, api::Problem> read_load_balancer_body(const net::Request& request,
                                                                       const ObjectName& name,
                                                                       std::string_view driver);
std::expected<api::TargetSet, api::Problem> read_target_set_body(const net::Request& request,
                                                                 const ObjectName& name);

}  // namespace isthmus::infra
