#include "isthmus/infra/balancer_api.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "isthmus/infra/audit.h"
#include "isthmus/infra/balancer_requests.h"
#include "isthmus/infra/object_page.h"
#include "isthmus/infra/object_requests.h"
#include "isthmus/infra/object_views.h"
#include "isthmus/infra/responses.h"

namespace isthmus::infra {
namespace {

namespace problem = api::problem;

// Of a wait whose client left. Nobody reads it; in the count of answers it is no failure of ours.
constexpr int kClientLeft = 499;

api::Problem not_found(const Route& route) {
  return api::make_problem(
      problem::load_balancer_not_found,
      fmt::format("{} has no load balancer {}, or its deletion is done", route.owner, route.name));
}

api::LoadBalancerList page_of(const LedgerSnapshot& snapshot, const std::string& owner,
                              const ListRequest& request, WallTime now) {
  api::LoadBalancerList list;
  list.revision = snapshot.revision;
  list.continue_token = walk_page(
      snapshot.balancers, snapshot.revision, owner, request,
      [](const BalancerRecord& record) { return !record.is_tombstone(); },
      [](const BalancerRecord& record) { return record.metadata; },
      [&](const BalancerRecord& record) {
        list.items.push_back(shown(snapshot, record, now));
        std::size_t weight = record.spec.listeners.size();
        for (const api::TargetGroup& group : record.spec.target_groups) {
          weight += group.targets.size();
        }
        return weight;
      });
  return list;
}

// So many of the targets are shown, those that are unhealthy before all others: 1.3 MB. A load
// balancer of 100 groups may have half a million.
constexpr std::size_t kTargetsShownMax = 10'000;

std::vector<api::TargetStatus> shortened(std::vector<api::TargetStatus> targets) {
  if (targets.size() <= kTargetsShownMax) return targets;
  std::vector<api::TargetStatus> shown;
  for (bool unhealthy : {true, false}) {
    for (api::TargetStatus& target : targets) {
      if (shown.size() == kTargetsShownMax) return shown;
      if ((target.health == api::Health::unhealthy) != unhealthy) continue;
      shown.push_back(std::move(target));
    }
  }
  return shown;
}

}  // namespace

BalancerApi::BalancerApi(ObjectParts parts)
    : parts_(std::move(parts)), wait_(parts_.store, parts_.ledger, parts_.metrics) {}

net::Response BalancerApi::answer(int status, const LedgerSnapshot& snapshot,
                                  const BalancerRecord& record) const {
  net::Response response =
      json_response(status, encode(shown(snapshot, record, parts_.clock.wall_now())));
  response.headers.add("ETag", entity_tag(record.metadata.revision));
  return response;
}

Task<net::Response> BalancerApi::list(const Exchange& exchange) {
  auto request = read_list_request(exchange.target, is_name);
  if (!request) co_return refused(exchange, std::move(request.error()));
  Result<Ledger::Snapshot> snapshot = co_await parts_.ledger.at(request->revision());
  if (!snapshot) co_return failed(exchange, snapshot.error(), parts_.log);
  co_return json_response(
      200, encode(page_of(**snapshot, exchange.route.owner, *request, parts_.clock.wall_now())));
}

Task<net::Response> BalancerApi::get(const Exchange& exchange, net::ResponseWriter& writer) {
  auto wait = read_wait_request(exchange.target);
  if (!wait) co_return refused(exchange, std::move(wait.error()));
  if (*wait && wait_.is_full()) {
    api::Problem full = api::make_problem(problem::rate_limited, "too many requests are waiting");
    full.retry_after_s = 1;
    co_return refused(exchange, std::move(full));
  }
  const ObjectName name{exchange.route.owner, exchange.route.name};
  if (*wait) {
    Result<bool> stayed = co_await wait_.wait(name, **wait, writer);
    if (!stayed) co_return failed(exchange, stayed.error(), parts_.log);
    if (!*stayed) co_return net::Response{kClientLeft, {}, ""};
  }
  Result<Ledger::Snapshot> snapshot = co_await parts_.ledger.latest();
  if (!snapshot) co_return failed(exchange, snapshot.error(), parts_.log);
  const BalancerRecord* record = (*snapshot)->balancer(name);
  if (record == nullptr) co_return refused(exchange, not_found(exchange.route));
  api::LoadBalancer balancer = shown(**snapshot, *record, parts_.clock.wall_now());
  if (parts_.view != nullptr) {
    balancer.status.target_health = shortened(parts_.view->target_health(name));
  }
  net::Response response = json_response(200, encode(balancer));
  response.headers.add("ETag", entity_tag(record->metadata.revision));
  co_return response;
}

net::Response BalancerApi::carried_out(const Exchange& exchange, int status,
                                       const BalancerPlan& plan) const {
  const api::Metadata& metadata = plan.record.metadata;
  if (plan.write) {
    audit(exchange,
          {"LoadBalancer", plan.generation_before, metadata.generation, metadata.revision},
          parts_.log, parts_.metrics);
  }
  return answer(status, parts_.planned_from(), plan.record);
}

net::Response BalancerApi::planned(const BalancerPlan& plan, bool removal) const {
  api::DryRun dry = dry_run_of(
      plan, removal, encode(shown(parts_.planned_from(), plan.record, parts_.clock.wall_now())));
  dry.addresses = plan.record.addresses;
  return json_response(200, encode(dry));
}

Task<net::Response> BalancerApi::put(const Exchange& exchange) {
  const Route& route = exchange.route;
  auto request = read_balancer_put_request(exchange.target, exchange.request.headers);
  if (!request) co_return refused(exchange, std::move(request.error()));
  const WriteRequest& write = request->write;
  auto said = read_load_balancer_body(exchange.request, {route.owner, route.name}, parts_.driver);
  if (!said) co_return refused(exchange, std::move(said.error()));
  // Held on to, because the configuration may be loaded anew meanwhile.
  const auto pools = parts_.access.pools_of(route.owner);
  Result<BalancerPlan> plan =
      co_await parts_.ledger.put(std::move(*said), write.preconditions, pools.get(), write.dry_run,
                                 std::move(request->preferred));
  if (!plan) co_return failed(exchange, plan.error(), parts_.log);
  if (plan->problem) co_return refused(exchange, std::move(*plan->problem));
  if (write.dry_run) co_return planned(*plan, false);
  co_return carried_out(exchange, plan->created ? 201 : 200, *plan);
}

Task<net::Response> BalancerApi::remove(const Exchange& exchange) {
  auto request = read_write_request(exchange.target, exchange.request.headers);
  if (!request) co_return refused(exchange, std::move(request.error()));
  ObjectName name{exchange.route.owner, exchange.route.name};
  Result<BalancerPlan> plan =
      co_await parts_.ledger.remove(std::move(name), request->preconditions, request->dry_run);
  if (!plan) co_return failed(exchange, plan.error(), parts_.log);
  if (plan->abandoned) {
    audit(exchange, {"Orphan", plan->generation_before, 0, 0}, parts_.log, parts_.metrics);
  }
  if (plan->problem) co_return refused(exchange, std::move(*plan->problem));
  if (request->dry_run) co_return planned(*plan, true);
  co_return carried_out(exchange, 202, *plan);
}

}  // namespace isthmus::infra
