#include "isthmus/infra/instance_api.h"

#include <fmt/format.h>

#include <utility>

#include "isthmus/infra/audit.h"
#include "isthmus/infra/instance_requests.h"
#include "isthmus/infra/object_requests.h"
#include "isthmus/infra/responses.h"

namespace isthmus::infra {
namespace {

namespace problem = api::problem;

// The problem of a machine that cannot be answered with, if it cannot.
std::optional<api::Problem> why_not_there(const InstanceRecord* record, const std::string& uid) {
  if (record == nullptr) {
    return api::make_problem(problem::instance_not_found,
                             fmt::format("{} was never known here", uid));
  }
  if (!record->is_retired()) return std::nullopt;
  return api::make_problem(
      problem::instance_retired,
      fmt::format("{} was retired on {}", uid, rfc3339(record->instance.last_confirmed_at)));
}

api::InstanceList page_of(const InstanceSnapshot& snapshot, const ListRequest& request,
                          const Instances& instances) {
  api::InstanceList list{.items = {}, .revision = snapshot.revision, .continue_token = {}};
  auto next =
      request.token ? snapshot.records.upper_bound(request.token->after) : snapshot.records.begin();
  for (; next != snapshot.records.end(); ++next) {
    const InstanceRecord& record = *next->second;
    if (record.is_retired() || !request.selector.matches(record.instance.labels)) continue;
    if (list.items.size() == request.limit) {
      PageToken token{snapshot.revision, list.items.back().uid};
      list.continue_token = token.text(request.selector_text);
      break;
    }
    list.items.push_back(instances.shown(record));
  }
  return list;
}

// If-Match and If-None-Match; a query is wrong, since these operations take none.
std::expected<Preconditions, api::Problem> preconditions_of(const Exchange& exchange) {
  if (auto wrong = refuse_parameters(exchange.target)) return std::unexpected(std::move(*wrong));
  return read_preconditions(exchange.request.headers);
}

}  // namespace

Task<net::Response> InstanceApi::list(const Exchange& exchange) {
  auto request = read_list_request(exchange.target, is_uid);
  if (!request) co_return refused(exchange, std::move(request.error()));
  Result<Instances::Snapshot> snapshot = co_await instances_.at(request->revision());
  if (!snapshot) co_return failed(exchange, snapshot.error(), log_);
  co_return json_response(200, encode(page_of(**snapshot, *request, instances_)));
}

Task<net::Response> InstanceApi::get(const Exchange& exchange) {
  if (auto wrong = refuse_parameters(exchange.target)) {
    co_return refused(exchange, std::move(*wrong));
  }
  Result<Instances::Snapshot> snapshot = co_await instances_.latest();
  if (!snapshot) co_return failed(exchange, snapshot.error(), log_);
  const InstanceRecord* record = (*snapshot)->find(exchange.route.uid);
  if (auto problem = why_not_there(record, exchange.route.uid)) {
    co_return refused(exchange, std::move(*problem));
  }
  net::Response response = json_response(200, encode(instances_.shown(*record)));
  response.headers.add("ETag", entity_tag(record->instance.revision));
  co_return response;
}

net::Response InstanceApi::written(const Exchange& exchange, const InstancePlan& plan) const {
  if (plan.problem) return refused(exchange, *plan.problem);
  const api::Instance& instance = plan.record.instance;
  if (plan.write) {
    audit(exchange, {"Instance", 0, instance.generation, instance.revision}, log_, metrics_);
  }
  net::Response response = json_response(plan.created ? 201 : 200, encode(instance));
  response.headers.add("ETag", entity_tag(instance.revision));
  return response;
}

Task<net::Response> InstanceApi::put(const Exchange& exchange) {
  auto preconditions = preconditions_of(exchange);
  if (!preconditions) co_return refused(exchange, std::move(preconditions.error()));
  auto said = read_instance_body(exchange.request, exchange.route.uid);
  if (!said) co_return refused(exchange, std::move(said.error()));
  Result<InstancePlan> plan = co_await instances_.put(std::move(*said), *preconditions);
  if (!plan) co_return failed(exchange, plan.error(), log_);
  co_return written(exchange, *plan);
}

Task<net::Response> InstanceApi::retire(const Exchange& exchange) {
  auto preconditions = preconditions_of(exchange);
  if (!preconditions) co_return refused(exchange, std::move(preconditions.error()));
  Result<InstancePlan> plan = co_await instances_.retire(exchange.route.uid, *preconditions);
  if (!plan) co_return failed(exchange, plan.error(), log_);
  co_return written(exchange, *plan);
}

}  // namespace isthmus::infra
