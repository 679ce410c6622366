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

// "/livez" of "/livez/leaderElection".
std::string_view first_segment(std::string_view path) { return path.substr(0, path.find('/', 1)); }

std::optional<Probe> probe_of(std::string_view path) {
  const std::string_view first = first_segment(path);
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

HealthChecks::HealthChecks(std::vector<HealthCheck> checks, HealthSlis& slis, Logger& logger)
    : checks_(std::move(checks)), slis_(slis), logger_(logger) {}

bool HealthChecks::serves(std::string_view path) { return probe_of(path).has_value(); }

net::Response HealthChecks::answer(const net::Target& target) {
  const std::string_view path = target.path;
  const std::optional<Probe> probe = probe_of(path);
  ISTHMUS_ASSERT(probe.has_value(), "asked for a path that is no probe's");
  const std::string_view probe_path = first_segment(path);
  return probe_response(probe_path, target, run(*probe, probe_path.substr(1)));
}

std::vector<CheckOutcome> HealthChecks::run(Probe probe, std::string_view type) {
  std::vector<CheckOutcome> outcomes{{"ping", true}};
  for (const HealthCheck& check : checks_) {
    if (check.probe == Probe::liveness || probe == Probe::readiness) {
      Result<> result = check.run();
      outcomes.push_back({check.name, result.has_value()});
      tell(check.name, result);
    }
  }
  for (const CheckOutcome& each : outcomes) slis_.observe(each.name, type, each.ok);
  return outcomes;
}

void HealthChecks::tell(const std::string& check, const Result<>& result) {
  if (!result && failing_.insert(check).second) {
    logger_.warning("health check failed", {{"check", check}, {"error", result.error()}});
  }
  if (result && failing_.erase(check) > 0) {
    logger_.info("health check ok again", {{"check", check}});
  }
}

}  // namespace isthmus::app
