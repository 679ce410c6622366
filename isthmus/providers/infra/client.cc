#include "isthmus/providers/infra/client.h"

#include <utility>

#include <fmt/format.h>

#include "isthmus/base/text.h"
#include "isthmus/providers/infra/answers.h"

namespace isthmus::providers::infra {

namespace api = isthmus::infra::api;

Task<Result<api::ServerInfo>> Client::server_info() {
  const net::Response response = CO_TRY(co_await get("/v1"));
  if (response.status != 200) co_return std::unexpected(error_of(response, clock_.wall_now()));
  co_return api::decode_server_info(response.body);
}

Task<Result<std::optional<api::Instance>>> Client::instance(std::string uid) {
  const std::string path = "/v1/instances/" + net::percent_encode(uid);
  const net::Response response = CO_TRY(co_await get(path));
  if (response.status == 200) {
    api::Instance found = CO_TRY(api::decode_instance(response.body));
    if (found.uid != uid) {
      co_return fail(Outcome::lost, fmt::format("asked for machine {}, and was answered about {}",
                                                uid, found.uid));
    }
    co_return std::move(found);
  }
  const std::optional<api::Problem> problem = problem_of(response);
  const std::string_view type = problem ? problem->suffix() : "";
  const bool is_retired = type == api::problem::instance_retired;
  const bool is_unknown = type == api::problem::instance_not_found;
  // Proof must name what it proves; that a machine is not known proves nothing and need not.
  if ((is_retired || is_unknown) && !speaks_of(*problem, path).value_or(is_unknown)) {
    co_return fail(Outcome::lost,
                   fmt::format("asked for machine {}, and was answered about {}: {}", uid,
                               problem->instance.empty() ? "none" : quoted(problem->instance),
                               to_sentence(*problem)));
  }
  if (is_unknown) co_return std::nullopt;
  if (is_retired) co_return fail(Outcome::absent, to_sentence(*problem));
  co_return std::unexpected(error_of(response, clock_.wall_now()));
}

Task<Result<api::InstanceList>> Client::instances(std::string continue_token) {
  std::vector<std::pair<std::string, std::string>> parameters{
      {"limit", std::to_string(kPageItems)}};
  if (!continue_token.empty()) parameters.emplace_back("continue", std::move(continue_token));
  const net::Response response = CO_TRY(co_await get(net::with_query("/v1/instances", parameters)));
  if (response.status != 200) co_return std::unexpected(error_of(response, clock_.wall_now()));
  co_return api::decode_instance_list(response.body);
}

Task<Result<net::Response>> Client::get(std::string target) {
  net::Request request{
      .method = "GET", .target = std::move(target), .headers = {{"Accept", kAccept}}, .body = {}};
  net::Response response = CO_TRY(co_await transport_.call(std::move(request)));
  co_return response;
}

}  // namespace isthmus::providers::infra
