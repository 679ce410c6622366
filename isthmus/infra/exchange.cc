#include "isthmus/infra/exchange.h"

#include <fmt/format.h>

#include <utility>

#include "isthmus/infra/responses.h"

namespace isthmus::infra {

net::Response refused(api::Problem why, std::string_view path, std::string_view id) {
  why.instance = fmt::format("{}#{}", path, id);
  return problem_response(why);
}

net::Response refused(const Exchange& exchange, api::Problem why) {
  return refused(std::move(why), exchange.target.path, exchange.id);
}

net::Response failed(const Exchange& exchange, const Error& error, Logger& log) {
  const bool may_happen = error.outcome == kRevisionGone || error.outcome == Outcome::busy;
  if (!may_happen && !is_our_own(error.outcome)) {
    log.error("the store failed", {{"operation", to_string(exchange.route.operation)},
                                   {"requestID", exchange.id},
                                   {"reason", error}});
  }
  return refused(exchange, problem_of(error, exchange.is_local));
}

}  // namespace isthmus::infra
