#include "isthmus/infra/http_api.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "isthmus/infra/api/openapi.h"
#include "isthmus/infra/api/rules.h"
#include "isthmus/infra/api/server_info.h"
#include "isthmus/infra/instance_requests.h"
#include "isthmus/infra/responses.h"

namespace isthmus::infra {
namespace {

namespace problem = api::problem;
using Operation = Route::Operation;
using Role = Caller::Role;

constexpr std::string_view kRequestId = "X-Request-Id";

// A caller's own id is kept when it is short and plain, so that it can stand in logs and headers.
bool is_sane_id(std::string_view id) {
  constexpr std::size_t kIdBytesMax = 64;
  auto plain = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == '_' || c == '.';
  };
  return !id.empty() && id.size() <= kIdBytesMax && std::ranges::all_of(id, plain);
}

net::Response refused(api::Problem why, std::string_view path, std::string_view id) {
  why.instance = fmt::format("{}#{}", path, id);
  return problem_response(why);
}

// Two could be of two callers, and whoever stands between us and them may have judged by the other.
bool is_authorized_twice(const net::Headers& headers) {
  return std::ranges::count_if(headers, [](const auto& field) {
           return api::lower_case(field.first) == "authorization";
         }) > 1;
}

net::Response unauthenticated(const Caller& caller, std::string_view path, std::string_view id) {
  net::Response response =
      refused(api::make_problem(problem::unauthenticated, caller.why), path, id);
  response.headers.add("WWW-Authenticate", "Bearer");
  return response;
}

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

}  // namespace

HttpApi::HttpApi(Parts parts)
    : parts_(std::move(parts)),
      watch_stream_(parts_.store, parts_.instances, parts_.metrics),
      on_collect_(parts_.metrics, [this] { refresh_gauges(); }) {}

std::string HttpApi::request_id(const net::Request& request) {
  std::optional<std::string_view> given = request.headers.find(kRequestId);
  return given && is_sane_id(*given) ? std::string(*given) : parts_.random.uuid();
}

void HttpApi::count(std::string_view operation, int status) {
  parts_.metrics
      .counter("infra_http_requests_total", "Requests answered, by operation and status.",
               {{"operation", std::string(operation)}, {"code", std::to_string(status)}})
      .add();
}

void HttpApi::refresh_gauges() {
  const InstanceSnapshot* snapshot = parts_.instances.remembered();
  if (snapshot == nullptr) return;
  std::array<double, 3> counts{};
  for (const auto& [uid, record] : snapshot->records) {
    counts.at(static_cast<std::size_t>(record->instance.presence)) += 1;
  }
  for (api::Presence presence :
       {api::Presence::present, api::Presence::unknown, api::Presence::absent}) {
    parts_.metrics
        .gauge("infra_instances", "Machines ever known, by presence; absent ones are retired.",
               {{"presence", std::string(to_string(presence))}})
        .set(counts.at(static_cast<std::size_t>(presence)));
  }
  parts_.metrics.gauge("infra_revision", "The store's revision when the machines were last read.")
      .set(static_cast<double>(snapshot->revision));
}

std::expected<HttpApi::Exchange, net::Response> HttpApi::admit(net::Request request,
                                                               const net::Peer& peer,
                                                               std::string id) const {
  std::string_view path = std::string_view(request.target).substr(0, request.target.find('?'));
  Result<net::Target> target = net::parse_target(request.target);
  if (!target) {
    return std::unexpected(
        refused(api::make_problem(problem::invalid_request, target.error().message), "/", id));
  }
  std::expected<Route, NoRoute> route = find_route(request.method, target->path);
  if (!route) {
    net::Response response = refused(std::move(route.error().problem), path, id);
    if (!route.error().allow.empty()) response.headers.add("Allow", route.error().allow);
    return std::unexpected(std::move(response));
  }
  if (is_authorized_twice(request.headers)) {
    return std::unexpected(refused(wrong_parameter("Authorization", "is given twice"), path, id));
  }
  Caller caller;
  if (route->needs != Role::nobody) {
    caller = parts_.access.who(request.headers.find("Authorization"), peer.address == "unix");
    if (caller.role == Role::nobody) return std::unexpected(unauthenticated(caller, path, id));
    if (caller.role != Role::admin && route->needs == Role::admin) {
      return std::unexpected(refused(
          api::make_problem(problem::forbidden,
                            fmt::format("{} needs the administrators' token; {} is an owner",
                                        to_string(route->operation), caller.name)),
          path, id));
    }
  }
  return Exchange{std::move(id),     std::move(request), std::move(*target),
                  std::move(*route), std::move(caller),  peer.is_local};
}

Task<Result<>> HttpApi::send(net::Response response, std::string id, net::ResponseWriter& writer) {
  response.headers.set(std::string(kRequestId), std::move(id));
  Result<> sent = co_await writer.respond(std::move(response));
  co_return sent;
}

Task<Result<>> HttpApi::serve(net::Request request, net::Peer peer, net::ResponseWriter& writer) {
  std::string id = request_id(request);
  std::expected<Exchange, net::Response> exchange = admit(std::move(request), peer, id);
  if (!exchange) {
    count("none", exchange.error().status);
    Result<> sent = co_await send(std::move(exchange.error()), std::move(id), writer);
    co_return sent;
  }
  if (exchange->route.operation == Operation::watch) {
    Result<> watched = co_await watch(std::move(*exchange), peer.address == "unix", writer);
    co_return watched;
  }
  net::Response response = co_await answer(*exchange);
  count(to_string(exchange->route.operation), response.status);
  Result<> sent = co_await send(std::move(response), std::move(id), writer);
  co_return sent;
}

Task<net::Response> HttpApi::answer(const Exchange& exchange) {
  net::Response response;
  switch (exchange.route.operation) {
    case Operation::list_instances:
      response = co_await list(exchange);
      break;
    case Operation::get_instance:
      response = co_await get(exchange);
      break;
    case Operation::put_instance:
      response = co_await put(exchange);
      break;
    case Operation::delete_instance:
      response = co_await retire(exchange);
      break;
    case Operation::get_readyz:
      response = co_await readyz(exchange);
      break;
    case Operation::get_server_info:
      response = server_info();
      break;
    case Operation::get_openapi:
      response = json_response(200, std::string(api::openapi_json()));
      break;
    case Operation::get_livez:
      response = text_response(200, "ok\n");
      break;
    case Operation::get_metrics:
      response = text_response(200, parts_.metrics.text());
      response.headers.set("Content-Type", std::string(Metrics::kContentType));
      break;
    case Operation::watch:
      ISTHMUS_ASSERT(false, "a watch is a stream and has been taken out before");
  }
  co_return response;
}

net::Response HttpApi::server_info() const {
  return json_response(
      200, encode(api::ServerInfo{.protocol_version = std::string(api::kProtocolVersion),
                                  .provider_name = "isthmus",
                                  .provider_id_scheme = "isthmus",
                                  .capabilities = {std::string(api::capability::instances),
                                                   std::string(api::capability::instance_watch)},
                                  .server_version = parts_.version}));
}

net::Response HttpApi::failed(const Exchange& exchange, const Error& error) const {
  if (error.outcome != kRevisionGone && !is_our_own(error.outcome)) {
    parts_.log.error("the store failed", {{"operation", to_string(exchange.route.operation)},
                                          {"requestID", exchange.id},
                                          {"reason", error}});
  }
  return refused(problem_of(error), exchange.target.path, exchange.id);
}

Task<net::Response> HttpApi::list(const Exchange& exchange) {
  auto request = read_list_request(exchange.target);
  if (!request) {
    co_return refused(std::move(request.error()), exchange.target.path, exchange.id);
  }
  Result<Instances::Snapshot> snapshot;
  if (request->token) {
    snapshot = co_await parts_.instances.at(request->token->revision);
  } else {
    snapshot = co_await parts_.instances.latest();
  }
  if (!snapshot) co_return failed(exchange, snapshot.error());
  co_return json_response(200, encode(page_of(**snapshot, *request, parts_.instances)));
}

Task<net::Response> HttpApi::get(const Exchange& exchange) {
  if (auto wrong = refuse_parameters(exchange.target)) {
    co_return refused(std::move(*wrong), exchange.target.path, exchange.id);
  }
  Result<Instances::Snapshot> snapshot = co_await parts_.instances.latest();
  if (!snapshot) co_return failed(exchange, snapshot.error());
  const InstanceRecord* record = (*snapshot)->find(exchange.route.uid);
  if (auto problem = why_not_there(record, exchange.route.uid)) {
    co_return refused(std::move(*problem), exchange.target.path, exchange.id);
  }
  net::Response response = json_response(200, encode(parts_.instances.shown(*record)));
  response.headers.add("ETag", entity_tag(record->instance.revision));
  co_return response;
}

net::Response HttpApi::written(const Exchange& exchange, const InstancePlan& plan) const {
  if (plan.problem) return refused(*plan.problem, exchange.target.path, exchange.id);
  const api::Instance& instance = plan.record.instance;
  if (plan.write) {
    parts_.log.info("instance written", {{"operation", to_string(exchange.route.operation)},
                                         {"uid", instance.uid},
                                         {"state", to_string(instance.state)},
                                         {"by", exchange.caller.name},
                                         {"revision", instance.revision},
                                         {"requestID", exchange.id}});
  }
  net::Response response = json_response(plan.created ? 201 : 200, encode(instance));
  response.headers.add("ETag", entity_tag(instance.revision));
  return response;
}

Task<net::Response> HttpApi::put(const Exchange& exchange) {
  auto preconditions = read_preconditions(exchange.target, exchange.request.headers);
  if (!preconditions) {
    co_return refused(std::move(preconditions.error()), exchange.target.path, exchange.id);
  }
  auto said = read_instance_body(exchange.request, exchange.route.uid);
  if (!said) co_return refused(std::move(said.error()), exchange.target.path, exchange.id);
  Result<InstancePlan> plan = co_await parts_.instances.put(std::move(*said), *preconditions);
  if (!plan) co_return failed(exchange, plan.error());
  co_return written(exchange, *plan);
}

Task<net::Response> HttpApi::retire(const Exchange& exchange) {
  auto preconditions = read_preconditions(exchange.target, exchange.request.headers);
  if (!preconditions) {
    co_return refused(std::move(preconditions.error()), exchange.target.path, exchange.id);
  }
  Result<InstancePlan> plan = co_await parts_.instances.retire(exchange.route.uid, *preconditions);
  if (!plan) co_return failed(exchange, plan.error());
  co_return written(exchange, *plan);
}

Task<net::Response> HttpApi::readyz(const Exchange& exchange) {
  Result<Instances::Snapshot> snapshot = co_await parts_.instances.latest();
  const std::optional<std::string>& unwritten = parts_.instances.write_trouble();
  std::string text = snapshot ? "[+] store\n" : "[-] store: does not answer\n";
  if (snapshot && unwritten) {
    text = "[!] store: answers, but the last write failed";
    if (exchange.is_local) text += ": " + *unwritten;
    text += "\n";
  }
  const InventoryFile* inventory = parts_.inventory;
  if (inventory != nullptr && !inventory->trouble()) text += "[+] inventory\n";
  if (inventory != nullptr && inventory->trouble()) {
    text += "[!] inventory: the file was not loaded, the last good one is served";
    // The words of the file are for who is on this machine; anybody may ask whether we are ready.
    if (exchange.is_local) text += ": " + *inventory->trouble();
    text += "\n";
  }
  for (const std::string& holder : parts_.access.in_trouble()) {
    text += "[!] tokens of " + holder + ": the file cannot be used, its last good tokens stay\n";
  }
  co_return text_response(snapshot ? 200 : 503, std::move(text));
}

Task<Result<>> HttpApi::watch(Exchange exchange, bool on_unix_socket, net::ResponseWriter& writer) {
  auto from = read_watch_request(exchange.target);
  std::optional<net::Response> refusal;
  if (!from) refusal = refused(std::move(from.error()), exchange.target.path, exchange.id);
  if (!refusal && watch_stream_.open() >= kWatchesMax) {
    api::Problem full = api::make_problem(problem::rate_limited, "too many watches are open");
    full.retry_after_s = 10;
    refusal = refused(std::move(full), exchange.target.path, exchange.id);
  }
  if (!refusal) {
    Result<> checked = co_await watch_stream_.check(*from);
    if (!checked) refusal = failed(exchange, checked.error());
  }
  count(to_string(Operation::watch), refusal ? refusal->status : 200);
  if (refusal) {
    Result<> sent = co_await send(std::move(*refusal), exchange.id, writer);
    co_return sent;
  }
  std::optional<std::string> authorization;
  if (auto header = exchange.request.headers.find("Authorization")) authorization = *header;
  const Access& access = parts_.access;
  auto allowed = [&access, authorization, on_unix_socket] {
    return access.who(authorization, on_unix_socket).role != Role::nobody;
  };
  net::Headers headers{{std::string(kRequestId), exchange.id}};
  Result<> served =
      co_await watch_stream_.serve(*from, std::move(allowed), std::move(headers), writer);
  co_return served;
}

}  // namespace isthmus::infra
