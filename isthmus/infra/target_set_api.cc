#include "isthmus/infra/target_set_api.h"

#include <fmt/format.h>

#include <map>

#include "isthmus/infra/audit.h"
#include "isthmus/infra/balancer_requests.h"
#include "isthmus/infra/object_page.h"
#include "isthmus/infra/object_requests.h"
#include "isthmus/infra/object_views.h"
#include "isthmus/infra/responses.h"

namespace isthmus::infra {
namespace {

api::Problem not_found(const Route& route) {
  return api::make_problem(api::problem::target_set_not_found,
                           fmt::format("{} has no target set {}", route.owner, route.name));
}

api::TargetSetList page_of(const LedgerSnapshot& snapshot, const std::string& owner,
                           const ListRequest& request) {
  const std::map<std::string, std::uint64_t> users = users_by_set(snapshot, owner);
  api::TargetSetList list;
  list.revision = snapshot.revision;
  list.continue_token = walk_page(
      snapshot.target_sets, snapshot.revision, owner, request,
      [](const TargetSetRecord& record) { return !record.deleted_at; },
      [](const TargetSetRecord& record) { return record.set.metadata; },
      [&](const TargetSetRecord& record) {
        list.items.push_back(record.set);
        auto found = users.find(record.set.metadata.name);
        list.items.back().users = found == users.end() ? 0 : found->second;
        return record.set.targets.size();
      });
  return list;
}

net::Response answer(int status, const LedgerSnapshot& snapshot, const TargetSetRecord& record) {
  net::Response response = json_response(status, encode(shown(snapshot, record)));
  response.headers.add("ETag", entity_tag(record.set.metadata.revision));
  return response;
}

}  // namespace

Task<net::Response> TargetSetApi::list(const Exchange& exchange) {
  auto request = read_list_request(exchange.target, is_name);
  if (!request) co_return refused(exchange, std::move(request.error()));
  Result<Ledger::Snapshot> snapshot = co_await parts_.ledger.at(request->revision());
  if (!snapshot) co_return failed(exchange, snapshot.error(), parts_.log);
  co_return json_response(200, encode(page_of(**snapshot, exchange.route.owner, *request)));
}

Task<net::Response> TargetSetApi::get(const Exchange& exchange) {
  if (auto wrong = refuse_parameters(exchange.target)) {
    co_return refused(exchange, std::move(*wrong));
  }
  Result<Ledger::Snapshot> snapshot = co_await parts_.ledger.latest();
  if (!snapshot) co_return failed(exchange, snapshot.error(), parts_.log);
  const ObjectName name{exchange.route.owner, exchange.route.name};
  const TargetSetRecord* record = (*snapshot)->target_set(name);
  if (record == nullptr) co_return refused(exchange, not_found(exchange.route));
  co_return answer(200, **snapshot, *record);
}

net::Response TargetSetApi::carried_out(const Exchange& exchange, int status,
                                        const TargetSetPlan& plan) const {
  const api::Metadata& metadata = plan.record.set.metadata;
  if (plan.write) {
    audit(exchange, {"TargetSet", plan.generation_before, metadata.generation, metadata.revision},
          parts_.log, parts_.metrics);
  }
  return answer(status, parts_.planned_from(), plan.record);
}

net::Response TargetSetApi::planned(const TargetSetPlan& plan, bool removal) const {
  const std::string object = encode(shown(parts_.planned_from(), plan.record));
  return json_response(200, encode(dry_run_of(plan, removal, object)));
}

Task<net::Response> TargetSetApi::put(const Exchange& exchange) {
  auto request = read_write_request(exchange.target, exchange.request.headers);
  if (!request) co_return refused(exchange, std::move(request.error()));
  auto said = read_target_set_body(exchange.request, {exchange.route.owner, exchange.route.name});
  if (!said) co_return refused(exchange, std::move(said.error()));
  Result<TargetSetPlan> plan =
      co_await parts_.ledger.put(std::move(*said), request->preconditions, request->dry_run);
  if (!plan) co_return failed(exchange, plan.error(), parts_.log);
  if (plan->problem) co_return refused(exchange, std::move(*plan->problem));
  if (request->dry_run) co_return planned(*plan, false);
  co_return carried_out(exchange, plan->created ? 201 : 200, *plan);
}

Task<net::Response> TargetSetApi::remove(const Exchange& exchange) {
  auto request = read_write_request(exchange.target, exchange.request.headers);
  if (!request) co_return refused(exchange, std::move(request.error()));
  ObjectName name{exchange.route.owner, exchange.route.name};
  Result<TargetSetPlan> plan = co_await parts_.ledger.remove_target_set(
      std::move(name), request->preconditions, request->dry_run);
  if (!plan) co_return failed(exchange, plan.error(), parts_.log);
  if (plan->problem) co_return refused(exchange, std::move(*plan->problem));
  if (request->dry_run) co_return planned(*plan, true);
  co_return carried_out(exchange, 200, *plan);
}

}  // namespace isthmus::infra
