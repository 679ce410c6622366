#include "isthmus/infra/route_table_api.h"

#include <fmt/format.h>

#include <expected>
#include <memory>
#include <vector>

#include "isthmus/infra/api/route_table_input.h"
#include "isthmus/infra/audit.h"
#include "isthmus/infra/object_page.h"
#include "isthmus/infra/object_requests.h"
#include "isthmus/infra/object_views.h"
#include "isthmus/infra/responses.h"

namespace isthmus::infra {
namespace {

api::Problem not_found(const Route& route) {
  return api::make_problem(
      api::problem::route_table_not_found,
      fmt::format("{} has no route table {}, or its deletion is done", route.owner, route.name));
}

api::RouteTableList page_of(const LedgerSnapshot& snapshot, const std::string& owner,
                            const ListRequest& request, WallTime now) {
  api::RouteTableList list;
  list.revision = snapshot.revision;
  list.continue_token = walk_page(
      snapshot.route_tables, snapshot.revision, owner, request,
      [](const RouteTableRecord& record) { return !record.is_tombstone(); },
      [](const RouteTableRecord& record) { return record.metadata; },
      [&](const RouteTableRecord& record) {
        list.items.push_back(shown(snapshot, record, now));
        return 2 * record.spec.routes.size();  // Each is told with its state.
      });
  return list;
}

std::expected<api::RouteTable, api::Problem> read_body(const net::Request& request,
                                                       const ObjectName& name) {
  if (auto refusal = refuse_body(request, api::kRouteTableBodyMax)) {
    return std::unexpected(std::move(*refusal));
  }
  api::Input<api::RouteTable> input =
      api::decode_route_table_input(request.body, name.owner, name.name);
  if (auto wrong = wrong_body(input.unreadable, std::move(input.errors))) {
    return std::unexpected(std::move(*wrong));
  }
  return std::move(input.object);
}

}  // namespace

net::Response RouteTableApi::answer(int status, const LedgerSnapshot& snapshot,
                                    const RouteTableRecord& record) const {
  net::Response response =
      json_response(status, encode(shown(snapshot, record, parts_.clock.wall_now())));
  response.headers.add("ETag", entity_tag(record.metadata.revision));
  return response;
}

Task<net::Response> RouteTableApi::list(const Exchange& exchange) {
  auto request = read_list_request(exchange.target, is_name);
  if (!request) co_return refused(exchange, std::move(request.error()));
  Result<Ledger::Snapshot> snapshot = co_await parts_.ledger.at(request->revision());
  if (!snapshot) co_return failed(exchange, snapshot.error(), parts_.log);
  co_return json_response(
      200, encode(page_of(**snapshot, exchange.route.owner, *request, parts_.clock.wall_now())));
}

Task<net::Response> RouteTableApi::get(const Exchange& exchange) {
  if (auto wrong = refuse_parameters(exchange.target)) {
    co_return refused(exchange, std::move(*wrong));
  }
  Result<Ledger::Snapshot> snapshot = co_await parts_.ledger.latest();
  if (!snapshot) co_return failed(exchange, snapshot.error(), parts_.log);
  const ObjectName name{exchange.route.owner, exchange.route.name};
  const RouteTableRecord* record = (*snapshot)->route_table(name);
  if (record == nullptr) co_return refused(exchange, not_found(exchange.route));
  co_return answer(200, **snapshot, *record);
}

net::Response RouteTableApi::carried_out(const Exchange& exchange, int status,
                                         const RouteTablePlan& plan) const {
  const api::Metadata& metadata = plan.record.metadata;
  if (plan.write) {
    audit(exchange, {"RouteTable", plan.generation_before, metadata.generation, metadata.revision},
          parts_.log, parts_.metrics);
  }
  return answer(status, parts_.planned_from(), plan.record);
}

net::Response RouteTableApi::planned(const RouteTablePlan& plan, bool removal) const {
  const std::string object =
      encode(shown(parts_.planned_from(), plan.record, parts_.clock.wall_now()));
  return json_response(200, encode(dry_run_of(plan, removal, object)));
}

Task<net::Response> RouteTableApi::put(const Exchange& exchange) {
  const Route& route = exchange.route;
  auto request = read_write_request(exchange.target, exchange.request.headers);
  if (!request) co_return refused(exchange, std::move(request.error()));
  auto said = read_body(exchange.request, {route.owner, route.name});
  if (!said) co_return refused(exchange, std::move(said.error()));
  // Held on to, because the configuration may be loaded anew meanwhile.
  const std::shared_ptr<const std::vector<IpPrefix>> destinations =
      parts_.access.destinations_of(route.owner);
  Result<RouteTablePlan> plan = co_await parts_.ledger.put(std::move(*said), request->preconditions,
                                                           destinations.get(), request->dry_run);
  if (!plan) co_return failed(exchange, plan.error(), parts_.log);
  if (plan->problem) co_return refused(exchange, std::move(*plan->problem));
  if (request->dry_run) co_return planned(*plan, false);
  co_return carried_out(exchange, plan->created ? 201 : 200, *plan);
}

Task<net::Response> RouteTableApi::remove(const Exchange& exchange) {
  auto request = read_write_request(exchange.target, exchange.request.headers);
  if (!request) co_return refused(exchange, std::move(request.error()));
  ObjectName name{exchange.route.owner, exchange.route.name};
  Result<RouteTablePlan> plan = co_await parts_.ledger.remove_route_table(
      std::move(name), request->preconditions, request->dry_run);
  if (!plan) co_return failed(exchange, plan.error(), parts_.log);
  if (plan->problem) co_return refused(exchange, std::move(*plan->problem));
  if (request->dry_run) co_return planned(*plan, true);
  co_return carried_out(exchange, 202, *plan);
}

}  // namespace isthmus::infra
