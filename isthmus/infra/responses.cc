#include "isthmus/infra/responses.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace isthmus::infra {
namespace {

// How soon a client may try again after the store failed.
constexpr Duration kRetryAfter = std::chrono::seconds(1);

}  // namespace

net::Response json_response(int status, std::string body) {
  return {status, {{"Content-Type", "application/json"}}, std::move(body)};
}

net::Response text_response(int status, std::string body) {
  return {status, {{"Content-Type", "text/plain; charset=utf-8"}}, std::move(body)};
}

net::Response problem_response(const api::Problem& problem) {
  net::Headers headers{{"Content-Type", std::string(api::kProblemMediaType)}};
  if (problem.retry_after_s != 0) {
    headers.add("Retry-After", std::to_string(problem.retry_after_s));
  }
  return {problem.status, std::move(headers), encode(problem)};
}

api::Problem problem_of(const Error& error, bool is_local) {
  if (error.outcome == kRevisionGone) {
    return api::make_problem(api::problem::revision_gone, error.message);
  }
  std::string why = is_local ? "the store failed: " + error.message
                             : "the store failed; the log of the server says why";
  if (error.outcome == Outcome::cancelled) why = "the server is stopping";
  if (error.outcome == Outcome::busy) why = "nothing can be written at this moment; come back";
  api::Problem problem = api::make_problem(api::problem::unavailable, std::move(why));
  Duration wait = std::max(error.retry_after, kRetryAfter);
  auto seconds = std::chrono::ceil<std::chrono::seconds>(wait).count();
  problem.retry_after_s = static_cast<std::uint32_t>(seconds);
  return problem;
}

api::Problem wrong_parameter(std::string_view name, std::string detail) {
  api::Problem problem =
      api::make_problem(api::problem::invalid_request, fmt::format("{} is wrong", name));
  problem.errors = {{std::string(name), std::move(detail)}};
  return problem;
}

std::string entity_tag(Revision revision) { return fmt::format("\"{}\"", revision); }

}  // namespace isthmus::infra
