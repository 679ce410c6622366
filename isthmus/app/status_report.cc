#include "isthmus/app/status_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "isthmus/infra/api/owner.h"
#include "isthmus/infra/api/problem.h"

namespace isthmus::app {
namespace {

namespace api = infra::api;
namespace problem = infra::api::problem;

// 1,000 pages of 1,000 items: an endless list is a broken server.
constexpr int kPagesMax = 1000;
constexpr std::string_view kPageItems = "1000";

// What a refusal means to whoever asked.
Error refusal(const net::Response& response) {
  Result<api::Problem> said = api::decode_problem(response.body, response.status);
  if (!said) {
    return {Outcome::lost, fmt::format("the answer is HTTP {} and not one of an Isthmus backend",
                                       response.status)};
  }
  if (response.status == 401) {
    return {Outcome::denied, to_sentence(*said) + "; name a file with one by --token-file"};
  }
  if (response.status == 403) return {Outcome::denied, to_sentence(*said)};
  const bool unsupported =
      said->suffix() == problem::not_offered || said->suffix() == problem::path_not_found;
  return {unsupported ? Outcome::unsupported : Outcome::lost, to_sentence(*said)};
}

template <class Object>
std::string joined(const std::vector<Object>& objects) {
  std::string text;
  for (const Object& object : objects) {
    text += (text.empty() ? "" : ",") + encode(object);
  }
  return "[" + text + "]";
}

std::string page_of(std::string path, const std::string& token) {
  std::vector<std::pair<std::string, std::string>> query{{"limit", std::string(kPageItems)}};
  if (!token.empty()) query.emplace_back("continue", token);
  return net::with_query(path, query);
}

template <class Item>
void append(std::vector<Item>& to, std::vector<Item> more) {
  std::ranges::move(more, std::back_inserter(to));
}

bool is_ready(const api::Metadata& metadata, const std::vector<api::Condition>& conditions) {
  const api::Condition* ready = find(conditions, api::condition::ready);
  return ready != nullptr && ready->status == api::ConditionStatus::is_true &&
         ready->observed_generation >= metadata.generation && !metadata.deletion_requested_at;
}

}  // namespace

bool is_ready(const api::LoadBalancer& balancer) {
  return is_ready(balancer.metadata, balancer.status.conditions);
}

bool is_ready(const api::RouteTable& table) {
  return is_ready(table.metadata, table.status.conditions);
}

bool is_well(const StatusReport& report) {
  auto is_so = [](const auto& object) { return is_ready(object); };
  return std::ranges::all_of(report.balancers, is_so) &&
         std::ranges::all_of(report.route_tables, is_so) && report.not_understood == 0 &&
         (!report.orphans || report.orphans->empty());
}

std::string encode(const StatusReport& report) {
  return fmt::format(
      R"({{"kind":"Status","loadBalancers":{},"addresses":{},"pools":{},"routeTables":{},)"
      R"("orphans":{}}})",
      joined(report.balancers), joined(report.addresses), joined(report.pools),
      joined(report.route_tables), report.orphans ? joined(*report.orphans) : "null");
}

StatusReader::StatusReader(net::Transport& transport, Secret token)
    : transport_(transport), token_(std::move(token)) {}

Task<Result<net::Response>> StatusReader::get(std::string target) {
  net::Request request;
  request.target = std::move(target);
  if (!token_.empty()) request.headers.add("Authorization", "Bearer " + token_.reveal());
  net::Response response = CO_TRY(co_await transport_.call(std::move(request)));
  if (response.status != 200) co_return std::unexpected(refusal(response));
  co_return response;
}

Task<Result<std::vector<std::string>>> StatusReader::owners() {
  net::Response response = CO_TRY(co_await get("/v1/owners"));
  api::OwnerList list = CO_TRY(api::decode_owner_list(response.body));
  std::vector<std::string> names;
  for (const api::Owner& owner : list.items) names.push_back(owner.name);
  co_return names;
}

Task<Result<>> StatusReader::read_balancers(std::string owner, StatusReport& report) {
  const std::string path = fmt::format("/v1/owners/{}/loadbalancers", net::percent_encode(owner));
  std::string token;
  for (int page = 0; page < kPagesMax; ++page) {
    net::Response response = CO_TRY(co_await get(page_of(path, token)));
    api::LoadBalancerList list = CO_TRY(api::decode_load_balancer_list(response.body));
    report.not_understood += list.not_understood;
    append(report.balancers, std::move(list.items));
    token = std::move(list.continue_token);
    if (token.empty()) co_return Result<>{};
  }
  co_return fail(Outcome::lost, "the list of load balancers has no end");
}

Task<Result<>> StatusReader::read_addresses(std::string owner, StatusReport& report) {
  const std::string path = fmt::format("/v1/owners/{}/addresses", net::percent_encode(owner));
  std::string token;
  for (int page = 0; page < kPagesMax; ++page) {
    net::Response response = CO_TRY(co_await get(page_of(path, token)));
    api::AddressList list = CO_TRY(api::decode_address_list(response.body));
    report.not_understood += list.not_understood;
    append(report.addresses, std::move(list.items));
    token = std::move(list.continue_token);
    if (token.empty()) co_return Result<>{};
  }
  co_return fail(Outcome::lost, "the list of addresses has no end");
}

// An older server has no route tables, and says that there is nothing at the path.
Task<Result<>> StatusReader::read_route_tables(std::string owner, StatusReport& report) {
  const std::string path = fmt::format("/v1/owners/{}/routetables", net::percent_encode(owner));
  std::string token;
  for (int page = 0; page < kPagesMax; ++page) {
    Result<net::Response> response = co_await get(page_of(path, token));
    if (response.outcome() == Outcome::unsupported) co_return Result<>{};
    if (!response) co_return std::unexpected(std::move(response).error());
    api::RouteTableList list = CO_TRY(api::decode_route_table_list(response->body));
    report.not_understood += list.not_understood;
    append(report.route_tables, std::move(list.items));
    token = std::move(list.continue_token);
    if (token.empty()) co_return Result<>{};
  }
  co_return fail(Outcome::lost, "the list of route tables has no end");
}

Task<Result<>> StatusReader::read_orphans(std::string owner, StatusReport& report) {
  Result<net::Response> response = co_await get("/v1/orphans");
  if (response.outcome() == Outcome::denied) co_return Result<>{};
  if (!response) co_return std::unexpected(std::move(response).error());
  api::OrphanList list = CO_TRY(api::decode_orphan_list(response->body));
  report.not_understood += list.not_understood;
  std::erase_if(list.items, [&owner](const api::Orphan& orphan) {
    return !owner.empty() && orphan.owner != owner;
  });
  report.orphans = std::move(list.items);
  co_return Result<>{};
}

Task<Result<StatusReport>> StatusReader::read(std::string owner) {
  StatusReport report;
  std::vector<std::string> names{owner};
  if (owner.empty()) {
    std::vector<std::string> all = CO_TRY(co_await owners());
    names = std::move(all);
  }
  for (const std::string& name : names) {
    CO_TRY(co_await read_balancers(name, report));
    CO_TRY(co_await read_addresses(name, report));
    CO_TRY(co_await read_route_tables(name, report));
  }
  net::Response response = CO_TRY(co_await get("/v1/pools"));
  api::PoolList pools = CO_TRY(api::decode_pool_list(response.body));
  report.not_understood += pools.not_understood;
  report.pools = std::move(pools.items);
  CO_TRY(co_await read_orphans(std::move(owner), report));
  co_return report;
}

}  // namespace isthmus::app
