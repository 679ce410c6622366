#include "isthmus/infra/balancer_requests.h"

#include <fmt/format.h>

#include <utility>

#include "isthmus/infra/api/load_balancer_input.h"
#include "isthmus/infra/object_requests.h"

namespace isthmus::infra {
namespace {

// "SCTP: not offered by driver nft", for each field that asks for it.
std::optional<api::Problem> refuse_unoffered(std::vector<api::FieldError> not_offered,
                                             std::string_view driver) {
  if (not_offered.empty()) return std::nullopt;
  for (api::FieldError& field : not_offered) {
    field.detail = fmt::format("{}: not offered by driver {}", field.detail, driver);
  }
  api::Problem problem = api::make_problem(api::problem::not_offered, not_offered.front().detail);
  problem.errors = std::move(not_offered);
  return problem;
}

}  // namespace

std::expected<api::LoadBalancer, api::Problem> read_load_balancer_body(const net::Request& request,
                                                                       const ObjectName& name,
                                                                       std::string_view driver) {
  if (auto refusal = refuse_body(request, api::kBalancerBodyMax)) {
    return std::unexpected(std::move(*refusal));
  }
  api::Input<api::LoadBalancer> input =
      api::decode_load_balancer_input(request.body, name.owner, name.name);
  if (auto wrong = wrong_body(input.unreadable, std::move(input.errors))) {
    return std::unexpected(std::move(*wrong));
  }
  if (auto refusal = refuse_unoffered(std::move(input.not_offered), driver)) {
    return std::unexpected(std::move(*refusal));
  }
  return std::move(input.object);
}

std::expected<api::TargetSet, api::Problem> read_target_set_body(const net::Request& request,
                                                                 const ObjectName& name) {
  if (auto refusal = refuse_body(request, api::kBalancerBodyMax)) {
    return std::unexpected(std::move(*refusal));
  }
  api::Input<api::TargetSet> input =
      api::decode_target_set_input(request.body, name.owner, name.name);
  if (auto wrong = wrong_body(input.unreadable, std::move(input.errors))) {
    return std::unexpected(std::move(*wrong));
  }
  return std::move(input.object);
}

}  // namespace isthmus::infra
