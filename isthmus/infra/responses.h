// Answers of the API, made of values.
#pragma once

#include <string>
#include <string_view>

#include "isthmus/base/result.h"
#include "isthmus/infra/api/problem.h"
#include "isthmus/infra/store/store.h"
#include "isthmus/net/http.h"

namespace isthmus::infra {

net::Response json_response(int status, std::string body);
net::Response text_response(int status, std::string body);

// With Retry-After where the problem names a time.
net::Response problem_response(const api::Problem& problem);

// What a client is told when the store failed: 503 and when to come back. A revision that is no
// longer in the history is 410. The engine's own words ("disk is full") are for who is on this
// machine; all others are sent to the log.
api::Problem problem_of(const Error& error, bool is_local);

// invalid-request with one wrong parameter or header.
api::Problem wrong_parameter(std::string_view name, std::string detail);

// The revision as ETag: "42" in quotes.
std::string entity_tag(Revision revision);

}  // namespace isthmus::infra
