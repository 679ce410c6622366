#include "isthmus/providers/infra/objects_client.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "isthmus/base/text.h"
#include "isthmus/providers/infra/answers.h"
#include "isthmus/providers/infra/client.h"

namespace isthmus::providers::infra {
namespace {

namespace api = isthmus::infra::api;

constexpr std::string_view kPreferences = "preferAddresses";

// A host takes its rules away in milliseconds, and the watch says so; this is for who has none.
constexpr Duration kTakingDown = std::chrono::seconds(1);

// Of a refusal to stream; what is longer is no problem of ours.
constexpr std::size_t kRefusalBytesMax = 64 * 1024;

// Of paths.
constexpr std::string_view kBalancers = "loadbalancers";
constexpr std::string_view kRouteTables = "routetables";

std::string path_of(std::string_view kind, const ObjectId& id) {
  return fmt::format("/v1/owners/{}/{}/{}", net::percent_encode(id.owner), kind,
                     net::percent_encode(id.name));
}
std::string balancer_path(const ObjectId& id) { return path_of(kBalancers, id); }
std::string target_set_path(const ObjectId& id) { return path_of("targetsets", id); }
std::string route_table_path(const ObjectId& id) { return path_of(kRouteTables, id); }

bool is_success(const net::Response& response) {
  return response.status == 200 || response.status == 201;
}

// Whether the server says, typed and of this very path, that there is nothing.
bool says_there_is_none(const net::Response& response, std::string_view type,
                        std::string_view path) {
  const std::optional<api::Problem> problem = problem_of(response);
  return problem && problem->suffix() == type && speaks_of(*problem, path).value_or(false);
}

// Whether nothing was done because what stands is not what we had seen.
bool has_moved(const net::Response& response) {
  const std::optional<api::Problem> problem = problem_of(response);
  return problem && problem->suffix() == api::problem::revision_conflict;
}

// Whether the server knows the rest of the request, and not preferred addresses.
bool knows_no_preferences(const net::Response& response) {
  const std::optional<api::Problem> problem = problem_of(response);
  return problem && problem->suffix() == api::problem::invalid_request &&
         std::ranges::all_of(problem->errors,
                             [](const auto& error) { return error.pointer == kPreferences; }) &&
         !problem->errors.empty();
}

// Whether nothing is wrong but that target sets are not there, which will pass.
bool lacks_target_sets(const api::Problem& problem) {
  return problem.suffix() == api::problem::invalid_spec && !problem.errors.empty() &&
         std::ranges::all_of(problem.errors, [](const api::FieldError& error) {
           return error.pointer.starts_with("/spec/targetGroups/") &&
                  error.pointer.ends_with("/targetSet");
         });
}

// Whether the server says, typed, that there is nothing: then no version of it can be expected.
bool is_not_there(const net::Response& response) {
  return response.status == 404 && problem_of(response).has_value();
}

// The place of the route that a pointer leads into; nullopt: it leads elsewhere.
std::optional<std::size_t> place_of_route(std::string_view pointer) {
  constexpr std::string_view kRoutes = "/spec/routes/";
  if (!pointer.starts_with(kRoutes)) return std::nullopt;
  const std::string_view rest = pointer.substr(kRoutes.size());
  std::size_t place = 0;
  const auto [stop, error] = std::from_chars(rest.data(), rest.data() + rest.size(), place);
  if (error != std::errc() || (stop != rest.data() + rest.size() && *stop != '/')) {
    return std::nullopt;
  }
  return place;
}

// Which routes are refused, if nothing else is wrong with the table; else nothing.
std::map<std::size_t, std::string> refused_routes(const net::Response& response) {
  std::map<std::size_t, std::string> refused;
  const std::optional<api::Problem> problem = problem_of(response);
  if (!problem || problem->suffix() != api::problem::invalid_spec) return refused;
  for (const api::FieldError& error : problem->errors) {
    const std::optional<std::size_t> place = place_of_route(error.pointer);
    if (!place) return {};
    refused.emplace(*place, error.detail);
  }
  return refused;
}

template <class Object>
Result<Object> about(const ObjectId& id, Object object) {
  const api::Metadata& said = object.metadata;
  if (said.name == id.name && said.owner == id.owner) return object;
  return fail(Outcome::lost, fmt::format("asked for {} of {}, and was answered about {} of {}",
                                         id.name, id.owner, said.name, said.owner));
}

}  // namespace

template <class Object>
struct ObjectsClient::Kind {
  std::string_view collection;
  std::string_view not_found;  // The problem that says that there is none.
  std::string_view leaving;    // What is said while it goes.
  Result<Object> (*decode)(std::string_view json);
};

const ObjectsClient::Kind<api::LoadBalancer> ObjectsClient::kBalancerKind{
    .collection = kBalancers,
    .not_found = api::problem::load_balancer_not_found,
    .leaving = "the load balancer is being taken down",
    .decode = api::decode_load_balancer};

const ObjectsClient::Kind<api::RouteTable> ObjectsClient::kRouteTableKind{
    .collection = kRouteTables,
    .not_found = api::problem::route_table_not_found,
    .leaving = "the routes are being taken away",
    .decode = api::decode_route_table};

template <class Object>
Task<Result<Object>> ObjectsClient::find(Kind<Object> kind, ObjectId id) {
  const std::string path = path_of(kind.collection, id);
  const net::Response response = CO_TRY(co_await look(path));
  if (response.status == 200) {
    Object answered = CO_TRY(kind.decode(response.body));
    co_return about(id, std::move(answered));
  }
  Error error = error_of(response, clock_.wall_now());
  if (says_there_is_none(response, kind.not_found, path)) error.outcome = Outcome::absent;
  co_return std::unexpected(std::move(error));
}

template <class Object>
Task<Result<>> ObjectsClient::remove(Kind<Object> kind, ObjectId id) {
  const std::string path = path_of(kind.collection, id);
  const net::Response response = CO_TRY(co_await change("DELETE", path, path));
  if (says_there_is_none(response, kind.not_found, path)) co_return Result<>{};
  if (response.status != 200 && response.status != 202) {
    co_return std::unexpected(error_of(response, clock_.wall_now()));
  }
  Object leaving = CO_TRY(kind.decode(response.body));
  CO_TRY(about(id, std::move(leaving)));
  co_return fail(Outcome::busy, std::string(kind.leaving), kTakingDown);
}

Task<Result<std::string>> ObjectsClient::page(std::string_view collection, std::string owner,
                                              int limit, std::string continue_token) {
  std::vector<std::pair<std::string, std::string>> parameters{{"limit", std::to_string(limit)}};
  if (!continue_token.empty()) parameters.emplace_back("continue", std::move(continue_token));
  const std::string path = fmt::format("/v1/owners/{}/{}", net::percent_encode(owner), collection);
  net::Response response = CO_TRY(co_await send("GET", net::with_query(path, parameters)));
  if (response.status != 200) co_return std::unexpected(error_of(response, clock_.wall_now()));
  co_return std::move(response.body);
}

Task<Result<std::optional<net::Response>>> ObjectsClient::put_balancer(Wish wish, bool dry_run) {
  std::vector<std::pair<std::string, std::string>> parameters;
  if (dry_run) parameters.emplace_back("dryRun", "true");
  if (!wish.preferred.empty()) {
    std::vector<std::string> addresses;
    for (const IpAddress& address : wish.preferred) addresses.push_back(to_string(address));
    parameters.emplace_back(kPreferences, fmt::format("{}", fmt::join(addresses, ",")));
  }
  const std::string path = balancer_path(wish.id);
  const std::string target = net::with_query(path, parameters);
  Task<Result<net::Response>> asking = dry_run ? send("PUT", target, std::move(wish.body))
                                               : change("PUT", path, target, std::move(wish.body));
  net::Response response = CO_TRY(co_await std::move(asking));
  if (is_success(response)) co_return std::move(response);
  if (!wish.preferred.empty() && knows_no_preferences(response)) co_return std::nullopt;
  Error error = error_of(response, clock_.wall_now());
  const std::optional<api::Problem> problem = problem_of(response);
  if (problem && lacks_target_sets(*problem)) error.outcome = Outcome::conflict;
  co_return std::unexpected(std::move(error));
}

Task<Result<std::optional<api::LoadBalancer>>> ObjectsClient::put(Wish wish) {
  const ObjectId id = wish.id;
  const std::optional<net::Response> response =
      CO_TRY(co_await put_balancer(std::move(wish), false));
  if (!response) co_return std::nullopt;
  api::LoadBalancer answered = CO_TRY(api::decode_load_balancer(response->body));
  api::LoadBalancer balancer = CO_TRY(about(id, std::move(answered)));
  co_return std::move(balancer);
}

Task<Result<std::optional<api::DryRun>>> ObjectsClient::plan(Wish wish) {
  const ObjectId id = wish.id;
  const std::optional<net::Response> response =
      CO_TRY(co_await put_balancer(std::move(wish), true));
  if (!response) co_return std::nullopt;
  api::DryRun plan = CO_TRY(api::decode_dry_run(response->body));
  api::LoadBalancer planned = CO_TRY(api::decode_load_balancer(plan.object));
  CO_TRY(about(id, std::move(planned)));
  co_return std::move(plan);
}

Task<Result<api::LoadBalancer>> ObjectsClient::balancer(ObjectId id) {
  return find(kBalancerKind, std::move(id));
}

Task<Result<>> ObjectsClient::remove_balancer(ObjectId id) {
  return remove(kBalancerKind, std::move(id));
}

Task<Result<api::LoadBalancerList>> ObjectsClient::balancers(std::string owner,
                                                             std::string continue_token) {
  const std::string body = CO_TRY(
      co_await page(kBalancers, std::move(owner), kBalancersPerPage, std::move(continue_token)));
  co_return api::decode_load_balancer_list(body);
}

Task<Result<api::TargetSet>> ObjectsClient::put_target_set(ObjectId id, std::string body) {
  const std::string path = target_set_path(id);
  const net::Response response = CO_TRY(co_await change("PUT", path, path, std::move(body)));
  if (!is_success(response)) co_return std::unexpected(error_of(response, clock_.wall_now()));
  api::TargetSet answered = CO_TRY(api::decode_target_set(response.body));
  co_return about(id, std::move(answered));
}

Task<Result<api::DryRun>> ObjectsClient::plan_target_set(ObjectId id, std::string body) {
  const std::string target = net::with_query(target_set_path(id), {{"dryRun", "true"}});
  const net::Response response = CO_TRY(co_await send("PUT", target, std::move(body)));
  if (!is_success(response)) co_return std::unexpected(error_of(response, clock_.wall_now()));
  api::DryRun plan = CO_TRY(api::decode_dry_run(response.body));
  api::TargetSet planned = CO_TRY(api::decode_target_set(plan.object));
  CO_TRY(about(id, std::move(planned)));
  co_return std::move(plan);
}

Task<Result<>> ObjectsClient::remove_target_set(ObjectId id) {
  const std::string path = target_set_path(id);
  const net::Response response = CO_TRY(co_await change("DELETE", path, path));
  if (says_there_is_none(response, api::problem::target_set_not_found, path)) {
    co_return Result<>{};
  }
  if (response.status != 200) co_return std::unexpected(error_of(response, clock_.wall_now()));
  api::TargetSet removed = CO_TRY(api::decode_target_set(response.body));
  CO_TRY(about(id, std::move(removed)));
  co_return Result<>{};
}

Task<Result<ObjectsClient::PutRoutes>> ObjectsClient::put_route_table(ObjectId id,
                                                                      std::string body) {
  const std::string path = route_table_path(id);
  const net::Response response = CO_TRY(co_await change_seen("PUT", path, path, std::move(body)));
  if (!is_success(response)) {
    PutRoutes put{.refused = refused_routes(response)};
    if (put.refused.empty()) co_return std::unexpected(error_of(response, clock_.wall_now()));
    co_return put;
  }
  api::RouteTable answered = CO_TRY(api::decode_route_table(response.body));
  api::RouteTable table = CO_TRY(about(id, std::move(answered)));
  co_return PutRoutes{.table = std::move(table)};
}

Task<Result<api::RouteTable>> ObjectsClient::route_table(ObjectId id) {
  const std::string path = route_table_path(id);
  Result<api::RouteTable> found = co_await find(kRouteTableKind, std::move(id));
  if (found.outcome() == Outcome::absent) seen_.learn_absence(path);
  co_return found;
}

Task<Result<>> ObjectsClient::remove_route_table(ObjectId id) {
  return remove(kRouteTableKind, std::move(id));
}

Task<Result<api::RouteTableList>> ObjectsClient::route_tables(std::string owner,
                                                              std::string continue_token) {
  const std::string body = CO_TRY(co_await page(kRouteTables, std::move(owner), kRouteTablesPerPage,
                                                std::move(continue_token)));
  co_return api::decode_route_table_list(body);
}

Task<Result<std::unique_ptr<net::LineReader>>> ObjectsClient::watch(std::string owner,
                                                                    std::uint64_t from) {
  net::Request request{
      .method = "GET",
      .target = fmt::format("/v1/owners/{}/watch?from={}", net::percent_encode(owner), from),
      .headers = {{"Accept", fmt::format("application/x-ndjson, {}", kAccept)}},
      .body = {}};
  net::StreamedResponse stream = CO_TRY(co_await transport_.open(std::move(request)));
  if (stream.status == 200) {
    co_return std::make_unique<net::LineReader>(std::move(stream.body), kEventBytesMax);
  }
  net::Response refusal{.status = stream.status, .headers = std::move(stream.headers), .body = {}};
  while (refusal.body.size() < kRefusalBytesMax) {
    const std::string piece = CO_TRY(co_await stream.body->next());
    if (piece.empty()) break;
    refusal.body += piece;
  }
  co_return std::unexpected(error_of(refusal, clock_.wall_now()));
}

// Where somebody else has written meanwhile, nothing has happened yet, and it is looked at first:
// whoever may still send has the last word.
Task<Result<net::Response>> ObjectsClient::change(std::string method, std::string path,
                                                  std::string target, std::string body) {
  const bool is_seen = !seen_.find(path).empty();
  net::Response response = CO_TRY(co_await change_seen(method, path, target, body));
  if (is_seen && has_moved(response)) {
    CO_TRY(co_await look(path));
    response =
        CO_TRY(co_await change_seen(std::move(method), path, std::move(target), std::move(body)));
  }
  co_return response;
}

// What we have seen once is written over only as we have seen it, and what was not there, not at
// all.
net::Headers ObjectsClient::expected(const std::string& method, const std::string& path) const {
  const std::string version = seen_.find(path);
  if (!version.empty()) return {{"If-Match", version}};
  if (method == "PUT" && seen_.is_absent(path)) return {{"If-None-Match", "*"}};
  return {};
}

Task<Result<net::Response>> ObjectsClient::change_seen(std::string method, std::string path,
                                                       std::string target, std::string body) {
  net::Response response =
      CO_TRY(co_await send(method, std::move(target), std::move(body), expected(method, path)));
  const bool is_gone = is_success(response) && method == "DELETE";
  if (is_gone || is_not_there(response)) {
    seen_.forget(path);
  } else {
    seen_.learn(path, response);
  }
  co_return response;
}

Task<Result<net::Response>> ObjectsClient::look(std::string path) {
  net::Response response = CO_TRY(co_await send("GET", path));
  if (is_not_there(response)) {
    seen_.forget(path);
  } else {
    seen_.learn(path, response);
  }
  co_return response;
}

Task<Result<net::Response>> ObjectsClient::send(std::string method, std::string target,
                                                std::string body, net::Headers expected) {
  net::Request request{.method = std::move(method),
                       .target = std::move(target),
                       .headers = std::move(expected),
                       .body = std::move(body)};
  request.headers.set("Accept", kAccept);
  if (!request.body.empty()) request.headers.set("Content-Type", "application/json");
  net::Response response = CO_TRY(co_await transport_.call(std::move(request)));
  co_return response;
}

}  // namespace isthmus::providers::infra
