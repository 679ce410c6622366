#include "isthmus/controllers/explanation.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "isthmus/base/duration.h"
#include "isthmus/base/json.h"

namespace isthmus::controllers {
namespace {

using State = Link::State;

json::object document_of(const kube::Event& event) {
  return {{"type", event.type},
          {"reason", event.reason},
          {"message", event.message},
          {"count", event.count},
          {"lastTime", event.last_time}};
}

std::string ago(Duration age) {
  const auto whole = std::chrono::duration_cast<std::chrono::seconds>(age);
  if (whole < Duration::zero())
    return fmt::format("{} ahead of our clock", format_duration(-whole));
  return format_duration(whole) + " ago";
}

// nullopt: it has never been renewed.
std::optional<Duration> age_of(const LeaseFacts& lease) {
  const std::optional<WallTime> renewed = kube::parse_rfc3339(lease.spec.renew_time);
  if (!renewed) return std::nullopt;
  return lease.looked_at - *renewed;
}

}  // namespace

std::string_view to_string(State state) {
  switch (state) {
    case State::ok:
      return "ok";
    case State::broken:
      return "broken";
    case State::unknown:
      return "unknown";
  }
  return "unknown";
}

bool is_broken(const Explanation& explanation) {
  return !explanation.links.empty() && explanation.links.back().state == State::broken;
}

std::vector<std::string> unknown_links(const Explanation& explanation) {
  std::vector<std::string> names;
  for (const Link& link : explanation.links) {
    if (link.state == State::unknown) names.push_back(link.name);
  }
  return names;
}

std::string encode(const Explanation& explanation) {
  json::array links;
  for (const Link& link : explanation.links) {
    links.push_back(json::object{{"name", link.name},
                                 {"state", to_string(link.state)},
                                 {"evidence", link.evidence},
                                 {"next", link.next}});
  }
  json::array events;
  for (const kube::Event& event : explanation.events) events.push_back(document_of(event));
  const json::value broken =
      is_broken(explanation) ? json::value(explanation.links.back().name) : json::value(nullptr);
  return compact_json(json::object{{"kind", "Explanation"},
                                   {"object",
                                    {{"kind", explanation.kind},
                                     {"namespace", explanation.key.name_space},
                                     {"name", explanation.key.name}}},
                                   {"broken", broken},
                                   {"links", std::move(links)},
                                   {"events", std::move(events)}});
}

bool Chain::ok(std::string name, std::string evidence) {
  explanation_.links.push_back({std::move(name), State::ok, std::move(evidence), {}});
  return true;
}

bool Chain::broken(std::string name, std::string evidence, std::string next) {
  explanation_.links.push_back(
      {std::move(name), State::broken, std::move(evidence), std::move(next)});
  return false;
}

bool Chain::unknown(std::string name, std::string evidence, std::string next) {
  explanation_.links.push_back(
      {std::move(name), State::unknown, std::move(evidence), std::move(next)});
  return true;
}

bool Chain::not_asked(std::string name, const Error& error) {
  return unknown(std::move(name), fmt::format("{}: {}", to_string(error.outcome), error.message),
                 std::string(way_to_ask(error.outcome, has_cloud_)));
}

std::string_view way_to_ask(Outcome outcome, bool has_cloud) {
  switch (outcome) {
    case Outcome::denied:
      return "ask for that right, or somebody who has it";
    case Outcome::unsupported:
      return has_cloud ? "this cloud cannot say it; if the manager has another one, name that: "
                         "--cloud-provider and --cloud-config"
                       : "name the cloud as the manager does: --cloud-provider and --cloud-config";
    default:
      return "try again";
  }
}

bool add_switch(Chain& chain, const Result<SwitchFacts>& said) {
  if (!said) return chain.not_asked("switch", said.error());
  if (!said->stops_all) return chain.ok("switch", "nobody has stopped all changes");
  return chain.broken(
      "switch",
      fmt::format("ConfigMap {} stops all changes (stop-all-mutations)", to_string(said->key)),
      "whoever stopped them lets them go on by that key, or without the ConfigMap");
}

bool is_fresh(const LeaseFacts& lease) {
  const Duration duration = std::chrono::seconds(lease.spec.duration_seconds);
  const std::optional<Duration> age = age_of(lease);
  return age && *age <= duration && *age >= -duration;
}

bool add_manager(Chain& chain, const Result<LeaseFacts>& lease) {
  const std::string name = "manager";
  if (!lease) return chain.not_asked(name, lease.error());
  const std::string key = to_string(lease->key);
  if (!lease->exists || lease->spec.holder.empty()) {
    return chain.broken(
        name,
        lease->exists ? fmt::format("nobody holds the Lease {}", key)
                      : fmt::format("there is no Lease {}: no manager has ever led here", key),
        "start a manager (isthmus run), and look into its log if it does not stay; another name "
        "or namespace of the Lease is told by --leader-elect-resource-name and -namespace");
  }
  const std::optional<Duration> age = age_of(*lease);
  const std::string when = age ? "renewed it " + ago(*age) : "has never renewed it";
  const std::optional<WallTime> acquired = kube::parse_rfc3339(lease->spec.acquire_time);
  const std::string since = acquired ? " since " + rfc3339(*acquired) : "";
  const std::string evidence =
      fmt::format("{} holds {}{} and {}", lease->spec.holder, key, since, when);
  if (is_fresh(*lease) || lease->moved) return chain.ok(name, evidence);
  return chain.broken(name, evidence,
                      "that manager is gone or stuck: look at its pod or service and its log; "
                      "another one takes over when the Lease is over");
}

std::string look_at_manager(const Result<LeaseFacts>& lease) {
  if (!lease || lease->spec.holder.empty()) {
    return "the manager has not got to it: look at its log, and at the events below";
  }
  return fmt::format(
      "the manager has not got to it: look at the log of {}, and at the events below; if that is "
      "none of yours, another manager uses the same Lease name (--leader-elect-resource-name)",
      lease->spec.holder);
}

}  // namespace isthmus::controllers
