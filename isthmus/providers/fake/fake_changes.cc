#include "isthmus/providers/fake/fake_changes.h"

#include <string>
#include <utility>

#include <fmt/format.h>

namespace isthmus::providers::fake {
namespace {

using Spec = cloud::LoadBalancerSpec;

template <class Values, class Write>
std::string joined(const Values& values, Write write) {
  std::string all;
  for (const auto& value : values) all += (all.empty() ? "" : ", ") + write(value);
  return all;
}

std::string text(const Spec::Listener& listener) {
  const char* protocol = listener.protocol == cloud::Protocol::tcp ? "tcp" : "udp";
  return fmt::format("{} {}/{} to {}", listener.name, protocol, listener.port,
                     listener.target_port);
}

std::string text(const cloud::Target& target) {
  return fmt::format("{} {}", target.name,
                     joined(target.addresses, [](const auto& one) { return to_string(one); }));
}

std::string text(const std::optional<Spec::HealthCheck>& check) {
  if (!check) return {};
  const bool is_http = check->protocol == Spec::HealthCheck::Protocol::http;
  return fmt::format("{} port {} {} every {} ms for {} ms, {} up {} down", is_http ? "http" : "tcp",
                     check->port, check->http_path, check->interval / std::chrono::milliseconds(1),
                     check->timeout / std::chrono::milliseconds(1), check->rise, check->fall);
}

// Every property as text, in the order of the struct.
std::vector<std::pair<std::string, std::string>> properties(const Spec& spec) {
  const auto address = [](const IpAddress& one) { return to_string(one); };
  return {
      {"labels",
       joined(spec.labels, [](const auto& label) { return label.first + "=" + label.second; })},
      {"pool", spec.pool},
      {"requested addresses", joined(spec.requested_addresses, address)},
      {"families", joined(spec.families, [](IpFamily one) { return std::string(to_string(one)); })},
      {"listeners", joined(spec.listeners, [](const auto& one) { return text(one); })},
      {"target set", spec.target_set},
      {"targets", joined(spec.targets, [](const auto& one) { return text(one); })},
      {"health check", text(spec.health_check)},
      {"source ranges", joined(spec.source_ranges, [](const auto& one) { return to_string(one); })},
      {"affinity", spec.affinity == Spec::Affinity::client_ip ? "client IP" : ""},
      {"source address", !spec.source_address                                ? ""
                         : *spec.source_address == Spec::SourceAddress::keep ? "keep"
                                                                             : "masquerade"},
  };
}

}  // namespace

std::vector<cloud::LoadBalancerPreview::Change> changes_of(const Spec& before, const Spec& after) {
  const auto from = properties(before);
  const auto to = properties(after);
  std::vector<cloud::LoadBalancerPreview::Change> changes;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (from[i].second == to[i].second) continue;
    changes.push_back({from[i].first, from[i].second, to[i].second});
  }
  return changes;
}

}  // namespace isthmus::providers::fake
