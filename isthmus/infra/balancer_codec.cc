#include "isthmus/infra/balancer_codec.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "isthmus/base/duration.h"
#include "isthmus/infra/record_json.h"

namespace isthmus::infra {
namespace {

using record_json::exact;
using record_json::read_count;
using record_json::read_text;
using record_json::read_time;

constexpr std::int64_t kPortMax = 65'535;
constexpr std::int64_t kCountMax = 1'000'000;
constexpr std::string_view kTcp = "TCP";
constexpr std::string_view kHttp = "HTTP";

// Inline targets are most of a large record, so each is one text: "192.0.2.1:80", and behind it
// " weight=5" and " drain" where it has them.
std::string text_of(const api::Target& target) {
  std::string text = to_string(Endpoint{target.address, target.port});
  if (target.weight != 1) text += fmt::format(" weight={}", target.weight);
  if (target.drain) text += " drain";
  return text;
}

// Takes the number at the front of the text; 0 is fine.
std::optional<std::uint32_t> take_number(std::string_view& text, std::uint32_t max) {
  std::uint32_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || number > max) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

bool take(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  return true;
}

std::optional<api::Target> target_of(std::string_view text) {
  const bool v6 = take(text, "[");
  const std::size_t end = text.find(v6 ? ']' : ':');
  if (end == std::string_view::npos) return std::nullopt;
  Result<IpAddress> address = parse_ip(text.substr(0, end));
  text.remove_prefix(end);
  if (!address || v6 != (address->family == IpFamily::v6)) return std::nullopt;
  if (!take(text, v6 ? "]:" : ":")) return std::nullopt;
  std::optional<std::uint32_t> port = take_number(text, kPortMax);
  if (!port) return std::nullopt;
  api::Target target{.address = *address, .port = static_cast<std::uint16_t>(*port)};
  if (take(text, " weight=")) {
    std::optional<std::uint32_t> weight = take_number(text, api::kWeightMax);
    if (!weight) return std::nullopt;
    target.weight = *weight;
  }
  target.drain = take(text, " drain");
  if (!text.empty()) return std::nullopt;
  return target;
}

// Without a reader for each: there are thousands.
std::vector<api::Target> read_targets(JsonReader reader) {
  std::vector<api::Target> targets;
  const json::array* list = reader.value().if_array();
  if (list == nullptr || list->size() > api::kTargetsMax) {
    reader.refuse_expected("a list of targets");
    return targets;
  }
  targets.reserve(list->size());
  for (const json::value& element : *list) {
    const json::string* text = element.if_string();
    std::optional<api::Target> target;
    if (text != nullptr) target = target_of(*text);
    if (!target) {
      reader.refuse(fmt::format("element {} is no target", targets.size()));
      return targets;
    }
    targets.push_back(*target);
  }
  return targets;
}

TargetSpan span_of(const api::LoadBalancerSpec& spec) {
  TargetSpan span;
  for (const api::TargetGroup& group : spec.target_groups) {
    for (const api::Target& target : group.targets) {
      if (!span.ends) span.ends = {target.address, target.address};
      span.ends->first = std::min(span.ends->first, target.address);
      span.ends->second = std::max(span.ends->second, target.address);
    }
  }
  return span;
}

json::object to_json(const api::HealthCheck& check) {
  const bool http = check.protocol == api::HealthCheck::Protocol::http;
  return {{"protocol", http ? kHttp : kTcp},
          {"port", check.port},
          {"path", check.path},
          {"interval", format_duration(check.interval)},
          {"timeout", format_duration(check.timeout)},
          {"rise", check.rise},
          {"fall", check.fall}};
}

api::HealthCheck read_health_check(JsonReader document) {
  api::HealthCheck check;
  const bool http = document.required("protocol").choice({kTcp, kHttp}) == kHttp;
  check.protocol = http ? api::HealthCheck::Protocol::http : api::HealthCheck::Protocol::tcp;
  check.port = static_cast<std::uint16_t>(document.required("port").integer(0, kPortMax));
  check.path = document.required("path").text();
  check.interval = document.required("interval").duration();
  check.timeout = document.required("timeout").duration();
  check.rise = static_cast<std::uint32_t>(document.required("rise").integer(0, kCountMax));
  check.fall = static_cast<std::uint32_t>(document.required("fall").integer(0, kCountMax));
  document.no_other_fields();
  return check;
}

json::object to_json(const api::TargetGroup& group) {
  json::object document{{"name", group.name}};
  if (!group.target_set.empty()) document["targetSet"] = group.target_set;
  if (group.port != 0) document["port"] = group.port;
  if (!group.targets.empty()) {
    json::array targets;
    for (const api::Target& target : group.targets) targets.emplace_back(text_of(target));
    document["targets"] = std::move(targets);
  }
  if (group.health_check) document["healthCheck"] = to_json(*group.health_check);
  return document;
}

api::TargetGroup read_group(JsonReader document) {
  api::TargetGroup group;
  group.name = document.required("name").text();
  group.target_set = read_text(document, "targetSet");
  if (auto port = document.optional("port")) {
    group.port = static_cast<std::uint16_t>(port->integer(1, kPortMax));
  }
  if (auto targets = document.optional("targets")) group.targets = read_targets(*targets);
  if (auto check = document.optional("healthCheck")) {
    group.health_check = read_health_check(*check);
  }
  document.no_other_fields();
  return group;
}

json::object to_json(const api::Listener& listener) {
  return {{"name", listener.name},
          {"protocol", api::to_string(listener.protocol)},
          {"port", listener.port},
          {"targetGroup", listener.target_group}};
}

api::Listener read_listener(JsonReader document) {
  api::Listener listener;
  listener.name = document.required("name").text();
  listener.protocol = record_json::read_word(document.required("protocol"),
                                             {api::Protocol::tcp, api::Protocol::udp});
  listener.port = static_cast<std::uint16_t>(document.required("port").integer(1, kPortMax));
  listener.target_group = document.required("targetGroup").text();
  document.no_other_fields();
  return listener;
}

json::object to_json(const api::LoadBalancerSpec& spec) {
  json::object document;
  if (!spec.pool.empty()) document["pool"] = spec.pool;
  if (!spec.addresses.empty()) document["addresses"] = record_json::to_json(spec.addresses);
  json::array families;
  for (IpFamily family : spec.families) families.emplace_back(to_string(family));
  document["families"] = std::move(families);
  if (!spec.sharing_key.empty()) document["sharingKey"] = spec.sharing_key;
  json::array listeners;
  for (const api::Listener& listener : spec.listeners) listeners.push_back(to_json(listener));
  document["listeners"] = std::move(listeners);
  json::array groups;
  for (const api::TargetGroup& group : spec.target_groups) groups.push_back(to_json(group));
  document["targetGroups"] = std::move(groups);
  if (!spec.allowed_sources.empty()) {
    json::array sources;
    for (const IpPrefix& source : spec.allowed_sources) sources.emplace_back(to_string(source));
    document["allowedSources"] = std::move(sources);
  }
  document["affinity"] = api::to_string(spec.affinity);
  if (spec.source_address) document["sourceAddress"] = api::to_string(*spec.source_address);
  return document;
}

// The word is api's to know, the family is base's.
struct Family {
  IpFamily family;
};
std::string_view to_string(Family word) { return isthmus::to_string(word.family); }

std::vector<IpPrefix> read_sources(JsonReader reader) {
  std::vector<IpPrefix> sources;
  for (JsonReader& element : reader.elements(api::kAllowedSourcesMax)) {
    Result<IpPrefix> source = parse_prefix(element.text());
    if (source) {
      sources.push_back(*source);
    } else {
      element.refuse_expected("a prefix");
    }
  }
  return sources;
}

api::LoadBalancerSpec read_spec(JsonReader document) {
  api::LoadBalancerSpec spec;
  spec.pool = read_text(document, "pool");
  spec.addresses = record_json::read_ips(document, "addresses", api::kBalancerAddressesMax);
  for (JsonReader& word : document.required("families").elements(2)) {
    Family family = record_json::read_word(word, {Family{IpFamily::v4}, Family{IpFamily::v6}});
    spec.families.push_back(family.family);
  }
  spec.sharing_key = read_text(document, "sharingKey");
  for (JsonReader& listener : document.required("listeners").elements(api::kListenersMax)) {
    spec.listeners.push_back(read_listener(listener));
  }
  for (JsonReader& group : document.required("targetGroups").elements(api::kTargetGroupsMax)) {
    spec.target_groups.push_back(read_group(group));
  }
  if (auto sources = document.optional("allowedSources")) {
    spec.allowed_sources = read_sources(*sources);
  }
  spec.affinity = record_json::read_word(document.required("affinity"),
                                         {api::Affinity::none, api::Affinity::client_ip});
  if (auto word = document.optional("sourceAddress")) {
    spec.source_address =
        record_json::read_word(*word, {api::SourceAddress::masquerade, api::SourceAddress::keep});
  }
  document.no_other_fields();
  return spec;
}

BalancerRecord read_balancer(JsonReader document) {
  BalancerRecord record;
  record.metadata = record_json::read_metadata(document.required("metadata"));
  record.spec = read_spec(document.required("spec"));
  record.addresses = record_json::read_ips(document, "addresses", api::kBalancerAddressesMax);
  record.deleted_at = read_time(document, "deletedAt");
  return record;
}

std::uint32_t read_small_count(JsonReader& document, std::string_view key) {
  return static_cast<std::uint32_t>(document.required(key).integer(0, kCountMax));
}

StatusRecord read_status(JsonReader document) {
  StatusRecord record;
  api::LoadBalancerStatus& status = record.status;
  status.addresses = record_json::read_ips(document, "addresses", api::kBalancerAddressesMax);
  status.observed_generation = read_count(document, "observedGeneration");
  status.applied_generation = read_count(document, "appliedGeneration");
  status.conditions = record_json::read_conditions(document);
  status.targets = read_small_count(document, "targets");
  status.targets_healthy = read_small_count(document, "targetsHealthy");
  status.targets_serving = read_small_count(document, "targetsServing");
  status.repairs = read_count(document, "repairs");
  status.last_repair = read_time(document, "lastRepair");
  status.last_repair_reason = read_text(document, "lastRepairReason");
  return record;
}

}  // namespace

std::string encode(const BalancerRecord& record) {
  json::object document{{"metadata", record_json::to_json(record.metadata)},
                        {"spec", to_json(record.spec)}};
  if (!record.addresses.empty()) document["addresses"] = record_json::to_json(record.addresses);
  if (record.deleted_at) document["deletedAt"] = exact(*record.deleted_at);
  return compact_json(document);
}

std::string encode(const StatusRecord& record) {
  const api::LoadBalancerStatus& status = record.status;
  json::object document{{"addresses", record_json::to_json(status.addresses)},
                        {"observedGeneration", status.observed_generation},
                        {"appliedGeneration", status.applied_generation},
                        {"conditions", record_json::to_json(status.conditions)},
                        {"targets", status.targets},
                        {"targetsHealthy", status.targets_healthy},
                        {"targetsServing", status.targets_serving}};
  if (status.repairs != 0) document["repairs"] = status.repairs;
  if (status.last_repair) document["lastRepair"] = exact(*status.last_repair);
  if (!status.last_repair_reason.empty()) document["lastRepairReason"] = status.last_repair_reason;
  return compact_json(document);
}

Result<BalancerRecord> decode_balancer_record(std::string_view value, Revision revision) {
  BalancerRecord record = TRY(record_json::decode(value, read_balancer));
  record.metadata.revision = revision;
  record.target_span = span_of(record.spec);
  return record;
}

Result<StatusRecord> decode_status_record(std::string_view value, Revision revision) {
  StatusRecord record = TRY(record_json::decode(value, read_status));
  record.revision = revision;
  return record;
}

}  // namespace isthmus::infra
