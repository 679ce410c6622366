#include "isthmus/app/operator_endpoints.h"

#include <fmt/format.h>

#include <utility>

#include "isthmus/app/version.h"

namespace isthmus::app {
namespace {

constexpr std::string_view kSlis = "/metrics/slis";

net::Response typed(int status, std::string body, std::string_view type) {
  net::Response response{.status = status, .headers = {}, .body = std::move(body)};
  response.headers.set("Content-Type", std::string(type));
  response.headers.set("Cache-Control", "no-cache, no-store, must-revalidate");
  response.headers.set("X-Content-Type-Options", "nosniff");
  return response;
}

net::Response text(int status, std::string body) {
  return typed(status, std::move(body), "text/plain; charset=utf-8");
}

net::Response not_allowed(std::string_view methods) {
  net::Response response = text(405, fmt::format("only {} are answered here\n", methods));
  response.headers.set("Allow", std::string(methods));
  return response;
}

}  // namespace

OperatorEndpoints::OperatorEndpoints(EndpointSources sources, Metrics& metrics, Logger& logger)
    : config_(std::move(sources.config)),
      metrics_(metrics),
      slis_(std::move(sources.process_start)),
      health_(std::move(sources.checks), slis_, logger) {}

Task<Result<>> OperatorEndpoints::serve(net::Request request, net::Peer,
                                        net::ResponseWriter& writer) {
  net::Response response = answer(request);
  co_return co_await writer.respond(std::move(response));
}

net::Response OperatorEndpoints::answer(const net::Request& request) {
  Result<net::Target> target = net::parse_target(request.target);
  if (!target) return text(400, target.error().message + "\n");
  const bool is_slis = target->path == kSlis;
  if (is_slis && request.method == "DELETE") {
    slis_.reset();
    return text(200, "metrics reset\n");
  }
  if (request.method != "GET" && request.method != "HEAD") {
    return not_allowed(is_slis ? "GET, HEAD, DELETE" : "GET, HEAD");
  }
  return answer_get(*target);
}

net::Response OperatorEndpoints::answer_get(const net::Target& target) {
  if (HealthChecks::serves(target.path)) return health_.answer(target);
  if (target.path == "/metrics") return typed(200, metrics_.text(), Metrics::kContentType);
  if (target.path == kSlis) return typed(200, slis_.text(), Metrics::kContentType);
  if (target.path == "/configz") return typed(200, config_() + "\n", "application/json");
  if (target.path == "/version") return typed(200, version_json() + "\n", "application/json");
  return text(404, "404 page not found\n");
}

}  // namespace isthmus::app
