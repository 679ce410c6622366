#include "isthmus/app/health.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace isthmus::app {
namespace {

net::Response text(int status, std::string body) {
  net::Response response{.status = status, .headers = {}, .body = std::move(body)};
  response.headers.set("Content-Type", "text/plain; charset=utf-8");
  response.headers.set("Cache-Control", "no-cache, no-store, must-revalidate");
  response.headers.set("X-Content-Type-Options", "nosniff");
  return response;
}

bool is_excluded(const net::Target& target, std::string_view name) {
  return std::ranges::any_of(target.parameters, [&](const auto& parameter) {
    return parameter.first == "exclude" && parameter.second == name;
  });
}

std::optional<Probe> probe_of(std::string_view path) {
  const std::string_view first = path.substr(0, path.find('/', 1));
  if (first == "/healthz" || first == "/livez") return Probe::liveness;
  if (first == "/readyz") return Probe::readiness;
  return std::nullopt;
}

net::Response one_check(std::string_view name, const std::vector<CheckOutcome>& outcomes) {
  const auto found = std::ranges::find(outcomes, name, &CheckOutcome::name);
  if (found == outcomes.end()) return text(404, fmt::format("there is no check {}\n", name));
  if (found->ok) return text(200, "ok");
  return text(500, fmt::format("internal server error: {} failed: reason withheld\n", name));
}

}  // namespace

net::Response probe_response(std::string_view probe_path, const net::Target& target,
                             const std::vector<CheckOutcome>& outcomes) {
  const std::string_view path = target.path;
  if (path.size() > probe_path.size() + 1) {
    return one_check(path.substr(probe_path.size() + 1), outcomes);
  }
  std::string list;
  bool all_ok = true;
  for (const CheckOutcome& outcome : outcomes) {
    if (is_excluded(target, outcome.name)) {
      list += fmt::format("[+]{} excluded: ok\n", outcome.name);
    } else if (outcome.ok) {
      list += fmt::format("[+]{} ok\n", outcome.name);
    } else {
      list += fmt::format("[-]{} failed: reason withheld\n", outcome.name);
      all_ok = false;
    }
  }
  const std::string_view name = probe_path.substr(1);
  if (!all_ok) return text(500, fmt::format("{}{} check failed\n", list, name));
  if (!target.parameter("verbose")) return text(200, "ok");
  return text(200, fmt::format("{}{} check passed\n", list, name));
}

OperatorEndpoints::OperatorEndpoints(Metrics& metrics, Logger& logger,
                                     std::vector<HealthCheck> checks)
    : metrics_(metrics), logger_(logger), checks_(std::move(checks)) {}

Task<Result<>> OperatorEndpoints::serve(net::Request request, net::Peer peer,
                                        net::ResponseWriter& writer) {
  net::Response response = answer(request, peer);
  co_return co_await writer.respond(std::move(response));
}

net::Response OperatorEndpoints::answer(const net::Request& request, const net::Peer& peer) {
  Result<net::Target> target = net::parse_target(request.target);
  if (!target) return text(400, target.error().message + "\n");
  if (request.method != "GET" && request.method != "HEAD") {
    net::Response response = text(405, "only GET and HEAD are answered here\n");
    response.headers.set("Allow", "GET, HEAD");
    return response;
  }
  if (target->path == "/metrics") {
    if (!peer.is_local) return text(403, "metrics are answered on this machine only\n");
    net::Response response = text(200, metrics_.text());
    response.headers.set("Content-Type", std::string(Metrics::kContentType));
    return response;
  }
  const std::optional<Probe> probe = probe_of(target->path);
  if (!probe) return text(404, "404 page not found\n");
  const std::string_view path = target->path;
  return probe_response(path.substr(0, path.find('/', 1)), *target, run_checks(*probe));
}

std::vector<CheckOutcome> OperatorEndpoints::run_checks(Probe probe) {
  std::vector<CheckOutcome> outcomes{{"ping", true}};
  for (const HealthCheck& check : checks_) {
    if (check.probe == Probe::liveness || probe == Probe::readiness) {
      Result<> result = check.run();
      outcomes.push_back({check.name, result.has_value()});
      tell(check.name, result);
    }
  }
  return outcomes;
}

void OperatorEndpoints::tell(const std::string& check, const Result<>& result) {
  if (!result && failing_.insert(check).second) {
    logger_.warning("health check failed", {{"check", check}, {"error", result.error()}});
  }
  if (result && failing_.erase(check) > 0)
    logger_.info("health check ok again", {{"check", check}});
}

}  // namespace isthmus::app
