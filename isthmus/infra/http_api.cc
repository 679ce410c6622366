#include "isthmus/infra/http_api.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

#include "isthmus/infra/api/openapi.h"
#include "isthmus/infra/api/rules.h"
#include "isthmus/infra/api/server_info.h"
#include "isthmus/infra/host_report.h"
#include "isthmus/infra/instance_events.h"
#include "isthmus/infra/object_requests.h"
#include "isthmus/infra/responses.h"
#include "isthmus/infra/unnamed_owners.h"

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

// Two could be of two callers, and whoever stands between us and them may have judged by the other.
bool is_authorized_twice(const net::Headers& headers) {
  return std::ranges::count_if(headers, [](const auto& field) {
           return api::lower_case(field.first) == "authorization";
         }) > 1;
}

// What everything about load balancers is answered where this server has no host for them.
api::Problem no_balancers() {
  return api::make_problem(problem::not_offered,
                           "this server holds no load balancers: its configuration has no host");
}

net::Response unauthenticated(const Caller& caller, std::string_view path, std::string_view id) {
  net::Response response =
      refused(api::make_problem(problem::unauthenticated, caller.why), path, id);
  response.headers.add("WWW-Authenticate", "Bearer");
  return response;
}

}  // namespace

HttpApi::HttpApi(Parts parts)
    : parts_(std::move(parts)),
      instance_api_(parts_.instances, parts_.log, parts_.metrics),
      watch_stream_(parts_.store, parts_.metrics),
      on_collect_(parts_.metrics, [this] { refresh_gauges(); }) {
  if (parts_.clock != nullptr) refusals_.emplace(*parts_.clock, parts_.log);
  if (parts_.ledger == nullptr) return;
  ISTHMUS_ASSERT(parts_.clock != nullptr, "what is shown of the ledger depends on the time");
  object_api_.emplace(ObjectParts{parts_.store, *parts_.ledger, parts_.access, parts_.view,
                                  *parts_.clock, parts_.metrics, parts_.log, parts_.driver});
}

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

std::expected<Exchange, net::Response> HttpApi::admit(net::Request request, const net::Peer& peer,
                                                      std::string id) {
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
    if (caller.role == Role::nobody) {
      if (refusals_) refusals_->tell(peer.address, caller.why);
      return std::unexpected(unauthenticated(caller, path, id));
    }
    if (caller.role != Role::admin && route->needs == Role::admin) {
      return std::unexpected(refused(
          api::make_problem(problem::forbidden,
                            fmt::format("{} needs the administrators' token; {} is an owner",
                                        to_string(route->operation), caller.name)),
          path, id));
    }
    if (auto why = why_not_yours(*route, caller)) {
      return std::unexpected(refused(std::move(*why), path, id));
    }
  }
  return Exchange{std::move(id),     std::move(request), std::move(*target),    std::move(*route),
                  std::move(caller), peer.is_local,      peer.address == "unix"};
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
  const Operation operation = exchange->route.operation;
  if (operation == Operation::watch) {
    Result<> watched = co_await watch_instances(std::move(*exchange), writer);
    co_return watched;
  }
  if (operation == Operation::watch_owner && object_api_) {
    Result<> watched = co_await watch_owner(std::move(*exchange), writer);
    co_return watched;
  }
  net::Response response = co_await answer(*exchange, writer);
  count(to_string(operation), response.status);
  Result<> sent = co_await send(std::move(response), std::move(id), writer);
  co_return sent;
}

Task<net::Response> HttpApi::answer(const Exchange& exchange, net::ResponseWriter& writer) {
  net::Response response;
  switch (exchange.route.operation) {
    case Operation::list_instances:
      response = co_await instance_api_.list(exchange);
      break;
    case Operation::get_instance:
      response = co_await instance_api_.get(exchange);
      break;
    case Operation::put_instance:
      response = co_await instance_api_.put(exchange);
      break;
    case Operation::delete_instance:
      response = co_await instance_api_.retire(exchange);
      break;
    case Operation::get_readyz:
      response = co_await readyz(exchange);
      break;
    case Operation::get_server_info:
      response = server_info(exchange.caller);
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
    default:
      if (!object_api_) co_return refused(exchange, no_balancers());
      response = co_await object_api_->answer(exchange, writer);
  }
  co_return response;
}

net::Response HttpApi::server_info(const Caller& caller) const {
  api::ServerInfo info{.protocol_version = std::string(api::kProtocolVersion),
                       .provider_name = "isthmus",
                       .provider_id_scheme = "isthmus",
                       .capabilities = {std::string(api::capability::instances),
                                        std::string(api::capability::instance_watch)},
                       .server_version = parts_.version,
                       .owner = caller.role == Role::owner ? caller.name : ""};
  if (object_api_) {
    for (std::string_view offered :
         {api::capability::load_balancers, api::capability::load_balancer_watch,
          api::capability::target_sets, api::capability::prefer_addresses}) {
      info.capabilities.emplace_back(offered);
    }
    // Where this host leaves forwarding to others, none can be put.
    if (parts_.driver != "announce") {
      info.capabilities.emplace_back(api::capability::route_tables);
    }
  }
  return json_response(200, encode(info));
}

Task<net::Response> HttpApi::readyz(const Exchange& exchange) {
  Result<Instances::Snapshot> snapshot = co_await parts_.instances.latest();
  std::optional<std::string> unwritten = parts_.instances.write_trouble();
  if (!unwritten && parts_.ledger != nullptr) unwritten = parts_.ledger->write_trouble();
  // The words of a trouble are for who is on this machine; anybody may ask whether we are ready.
  auto line = [&exchange](std::string_view part, const std::optional<std::string>& trouble,
                          std::string_view meaning) {
    if (!trouble) return fmt::format("[+] {}\n", part);
    return fmt::format("[!] {}: {}{}\n", part, meaning, exchange.is_local ? ": " + *trouble : "");
  };
  constexpr std::string_view kStays = "the file was not loaded, the last good one is served";
  std::string text = "[-] store: does not answer\n";
  if (!snapshot && exchange.is_local) {
    text = fmt::format("[-] store: {}\n", snapshot.error().message);
  }
  if (snapshot) text = line("store", unwritten, "answers, but the last write failed");
  if (parts_.inventory != nullptr) text += line("inventory", parts_.inventory->trouble(), kStays);
  if (parts_.config_trouble) {
    if (auto trouble = parts_.config_trouble()) text += line("configuration", trouble, kStays);
  }
  if (parts_.restart_needed) {
    auto keys = parts_.restart_needed();
    if (keys) text += line("configuration", keys, "loaded, but part of it waits for a restart");
  }
  for (const std::string& holder : parts_.access.in_trouble()) {
    text += "[!] tokens of " + holder + ": the file cannot be used, its last good tokens stay\n";
  }
  if (exchange.is_local) {
    const std::string owners = co_await owners_line();
    text += owners;
  }
  bool ready = snapshot.has_value();
  if (parts_.host_is_ready) {
    const std::string host = co_await host_line(exchange.is_local);
    text += host;
    ready = ready && parts_.host_is_ready();
  }
  co_return text_response(ready ? 200 : 503, std::move(text));
}

// An administrator may keep such owners on purpose, so they are no mistake; nothing without them.
Task<std::string> HttpApi::owners_line() {
  if (parts_.ledger == nullptr) co_return "";
  Result<Ledger::Snapshot> snapshot = co_await parts_.ledger->latest();
  const auto unnamed = snapshot ? unnamed_owners(**snapshot, parts_.access) : std::nullopt;
  if (!unnamed) co_return "";
  co_return fmt::format(
      "[+] owners: the configuration does not name all that have something here: {}\n", *unnamed);
}

// Whether others' chains are in the way is for people to find out, so they are no mistake.
Task<std::string> HttpApi::host_line(bool is_local) {
  if (!parts_.host_is_ready()) co_return "[-] host: is still being brought to what it should be\n";
  std::optional<std::string> trouble;
  if (parts_.ledger != nullptr) {
    Result<Ledger::Snapshot> snapshot = co_await parts_.ledger->latest();
    if (snapshot) trouble = host_trouble(**snapshot);
  }
  if (trouble) {
    co_return fmt::format("[!] host: stands in the way of load balancers{}\n",
                          is_local ? ": " + *trouble : "");
  }
  const auto chains =
      parts_.dropping_chains ? parts_.dropping_chains() : std::vector<std::string>{};
  if (chains.empty() || !is_local) co_return "[+] host\n";
  co_return fmt::format(
      "[+] host: other chains drop what they do not accept, see that they accept what goes to the "
      "targets: {}\n",
      fmt::join(chains, ", "));
}

Task<Result<>> HttpApi::watch_instances(Exchange exchange, net::ResponseWriter& writer) {
  InstanceEvents source(parts_.instances);
  Result<> watched = co_await watch(std::move(exchange), source, writer);
  co_return watched;
}

Task<Result<>> HttpApi::watch_owner(Exchange exchange, net::ResponseWriter& writer) {
  OwnerEvents source = object_api_->events(exchange);
  Result<> watched = co_await watch(std::move(exchange), source, writer);
  co_return watched;
}

Task<Result<>> HttpApi::watch(Exchange exchange, EventSource& source, net::ResponseWriter& writer) {
  auto from = read_watch_request(exchange.target);
  std::optional<net::Response> refusal;
  if (!from) refusal = refused(exchange, std::move(from.error()));
  if (!refusal && watch_stream_.open() >= kWatchesMax) {
    api::Problem full = api::make_problem(problem::rate_limited, "too many watches are open");
    full.retry_after_s = 10;
    refusal = refused(exchange, std::move(full));
  }
  if (!refusal) {
    Result<> checked = co_await watch_stream_.check(*from);
    if (!checked) refusal = failed(exchange, checked.error(), parts_.log);
  }
  count(to_string(exchange.route.operation), refusal ? refusal->status : 200);
  if (refusal) {
    Result<> sent = co_await send(std::move(*refusal), exchange.id, writer);
    co_return sent;
  }
  std::optional<std::string> authorization;
  if (auto header = exchange.request.headers.find("Authorization")) authorization = *header;
  const Access& access = parts_.access;
  auto allowed = [&access, authorization, route = exchange.route,
                  on_unix_socket = exchange.on_unix_socket] {
    const Caller caller = access.who(authorization, on_unix_socket);
    return caller.role != Role::nobody && !why_not_yours(route, caller);
  };
  net::Headers headers{{std::string(kRequestId), exchange.id}};
  Result<> served =
      co_await watch_stream_.serve(*from, source, std::move(allowed), std::move(headers), writer);
  co_return served;
}

}  // namespace isthmus::infra
