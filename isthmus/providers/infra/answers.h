// What an answer of the infrastructure API means to us: plain functions from bytes to outcomes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "isthmus/base/result.h"
#include "isthmus/cloud/model.h"
#include "isthmus/infra/api/instance.h"
#include "isthmus/infra/api/problem.h"
#include "isthmus/net/http.h"

namespace isthmus::providers::infra {

// The problem details of a refusal; nullopt when the answer is none, or not one of this server: its
// media type, its JSON or its status say otherwise. A proxy's page is never one.
std::optional<isthmus::infra::api::Problem> problem_of(const net::Response& response);

// Whether a problem speaks of what was asked for: the path in its `instance`, without query and
// fragment, ends with this one (both decoded; what stands before it is a proxy's). nullopt where it
// does not say.
std::optional<bool> speaks_of(const isthmus::infra::api::Problem& problem, std::string_view path);

// The error that an answer is which is no success, whatever was asked; so never absent, which is
// about one thing and for whoever asked for it to say (speaks_of).
//
//   denied       401, 403, whoever answered
//   busy         429, 503, whoever answered, with Retry-After (seconds or date) or the problem's
//   own conflict     409, 410, 412 as problems invalid      400, 413, 415, 422 as problems
//   unsupported  path-not-found, 405, 501 as problems
//   lost         everything else: every 404 without a typed problem, HTML, redirects, 5xx
//
// A type of problem that we do not know counts as its status class says.
Error error_of(const net::Response& response, WallTime now);

// In the words of cloud/. Power and presence that are not known are unknown; addresses keep their
// order.
cloud::Instance to_cloud(const std::string& scheme, isthmus::infra::api::Instance instance);

}  // namespace isthmus::providers::infra
