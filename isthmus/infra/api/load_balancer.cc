#include "isthmus/infra/api/load_balancer.h"

#include <utility>

#include "isthmus/base/duration.h"
#include "isthmus/base/json.h"
#include "isthmus/infra/api/load_balancer_json.h"
#include "isthmus/infra/api/object_json.h"
#include "isthmus/infra/api/rules.h"
#include "isthmus/infra/api/words.h"

namespace isthmus::infra::api {
namespace {

constexpr Words<Protocol, 2> kProtocols = {{{Protocol::tcp, "TCP"}, {Protocol::udp, "UDP"}}};
constexpr Words<HealthCheck::Protocol, 2> kCheckProtocols = {
    {{HealthCheck::Protocol::tcp, "TCP"}, {HealthCheck::Protocol::http, "HTTP"}}};
constexpr Words<Affinity, 2> kAffinities = {
    {{Affinity::none, "None"}, {Affinity::client_ip, "ClientIP"}}};
constexpr Words<SourceAddress, 2> kSourceAddresses = {
    {{SourceAddress::masquerade, "masquerade"}, {SourceAddress::keep, "keep"}}};
constexpr Words<IpFamily, 2> kFamilies = {{{IpFamily::v4, "IPv4"}, {IpFamily::v6, "IPv6"}}};
constexpr Words<Health, 4> kHealths = {{
    {Health::unchecked, "unchecked"},
    {Health::unknown, "unknown"},
    {Health::healthy, "healthy"},
    {Health::unhealthy, "unhealthy"},
}};

// Every target of every group: more than a body has room for.
constexpr std::size_t kTargetHealthMax = kTargetGroupsMax * kTargetsMax;

json::object to_json(const HealthCheck& check) {
  json::object object{{"protocol", word_of(kCheckProtocols, check.protocol)}};
  if (check.port != 0) object["port"] = check.port;
  if (check.protocol == HealthCheck::Protocol::http) object["path"] = check.path;
  object["interval"] = format_duration(check.interval);
  object["timeout"] = format_duration(check.timeout);
  object["rise"] = check.rise;
  object["fall"] = check.fall;
  return object;
}

json::object to_json(const TargetGroup& group) {
  json::object object{{"name", group.name}};
  if (group.target_set.empty()) {
    json::array targets;
    targets.reserve(group.targets.size());
    for (const Target& target : group.targets) {
      targets.push_back(json::object{{"address", to_string(target.address)},
                                     {"port", target.port},
                                     {"weight", target.weight},
                                     {"drain", target.drain}});
    }
    object["targets"] = std::move(targets);
  } else {
    object["targetSet"] = group.target_set;
    object["port"] = group.port;
  }
  if (group.health_check) object["healthCheck"] = to_json(*group.health_check);
  return object;
}

json::array to_json(const std::vector<TargetStatus>& targets) {
  json::array list;
  list.reserve(targets.size());
  for (const TargetStatus& target : targets) {
    json::object object{{"group", target.group}};
    if (!target.name.empty()) object["name"] = target.name;
    object["address"] = to_string(target.address);
    object["port"] = target.port;
    object["health"] = to_string(target.health);
    if (!target.reason.empty()) object["reason"] = target.reason;
    object["serving"] = target.serving;
    list.push_back(std::move(object));
  }
  return list;
}

// Nothing for a check of a protocol we do not know.
std::optional<HealthCheck> read_health_check(JsonReader object) {
  HealthCheck check;
  auto protocol = value_of(kCheckProtocols, object.required("protocol").text(kAnswerTextMax));
  if (!protocol) return std::nullopt;
  check.protocol = *protocol;
  if (auto port = object.optional("port")) check.port = read_port(*port);
  if (auto path = object.optional("path")) check.path = path->text(kAnswerTextMax);
  if (auto interval = object.optional("interval")) check.interval = interval->duration();
  if (auto timeout = object.optional("timeout")) check.timeout = timeout->duration();
  if (auto rise = object.optional("rise")) check.rise = read_small_count(*rise);
  if (auto fall = object.optional("fall")) check.fall = read_small_count(*fall);
  return check;
}

Target read_target(JsonReader object) {
  Target target;
  target.address = read_ip(object.required("address"));
  target.port = read_port(object.required("port"));
  if (auto weight = object.optional("weight")) target.weight = read_small_count(*weight);
  target.drain = boolean_or(object, "drain", false);
  return target;
}

TargetGroup read_target_group(JsonReader object) {
  TargetGroup group;
  group.name = object.required("name").text(kAnswerTextMax);
  group.target_set = text_or_empty(object, "targetSet");
  if (!group.target_set.empty()) {
    group.port = read_port(object.required("port"));
  } else if (auto targets = object.optional("targets")) {
    std::vector<JsonReader> elements = targets->elements(kAnswerItemsMax);
    group.targets.reserve(elements.size());
    for (JsonReader& element : elements) group.targets.push_back(read_target(element));
  }
  if (auto check = object.optional("healthCheck")) group.health_check = read_health_check(*check);
  return group;
}

// Those of a protocol we do not know are passed over.
void read_listeners(JsonReader listeners, LoadBalancerSpec& spec) {
  for (JsonReader& element : listeners.elements(kAnswerItemsMax)) {
    auto protocol = value_of(kProtocols, element.required("protocol").text(kAnswerTextMax));
    if (!protocol) continue;
    spec.listeners.push_back({.name = element.required("name").text(kAnswerTextMax),
                              .protocol = *protocol,
                              .port = read_port(element.required("port")),
                              .target_group = text_or_empty(element, "targetGroup")});
  }
}

TargetStatus read_target_status(JsonReader object) {
  TargetStatus target;
  target.group = text_or_empty(object, "group");
  target.name = text_or_empty(object, "name");
  target.address = read_ip(object.required("address"));
  target.port = read_port(object.required("port"));
  target.health = value_of(kHealths, text_or_empty(object, "health")).value_or(Health::unknown);
  target.reason = text_or_empty(object, "reason");
  target.serving = boolean_or(object, "serving", false);
  return target;
}

}  // namespace

std::string_view to_string(Protocol protocol) { return word_of(kProtocols, protocol); }
std::string_view to_string(Affinity affinity) { return word_of(kAffinities, affinity); }
std::string_view to_string(SourceAddress source_address) {
  return word_of(kSourceAddresses, source_address);
}
std::string_view to_string(Health health) { return word_of(kHealths, health); }

std::optional<IpFamily> family_of(std::string_view word) { return value_of(kFamilies, word); }
std::optional<Affinity> affinity_of(std::string_view word) { return value_of(kAffinities, word); }
std::optional<SourceAddress> source_address_of(std::string_view word) {
  return value_of(kSourceAddresses, word);
}

json::object to_json(const LoadBalancerSpec& spec) {
  json::object object;
  if (!spec.pool.empty()) object["pool"] = spec.pool;
  if (!spec.addresses.empty()) object["addresses"] = to_json(spec.addresses);
  json::array families;
  for (IpFamily family : spec.families) families.push_back(json::value(to_string(family)));
  object["families"] = std::move(families);
  if (!spec.sharing_key.empty()) object["sharingKey"] = spec.sharing_key;
  json::array listeners;
  for (const Listener& listener : spec.listeners) {
    listeners.push_back(json::object{{"name", listener.name},
                                     {"protocol", to_string(listener.protocol)},
                                     {"port", listener.port},
                                     {"targetGroup", listener.target_group}});
  }
  object["listeners"] = std::move(listeners);
  json::array groups;
  for (const TargetGroup& group : spec.target_groups) groups.push_back(to_json(group));
  object["targetGroups"] = std::move(groups);
  if (!spec.allowed_sources.empty()) {
    json::array sources;
    for (const IpPrefix& source : spec.allowed_sources) {
      sources.push_back(json::value(to_string(source)));
    }
    object["allowedSources"] = std::move(sources);
  }
  object["affinity"] = to_string(spec.affinity);
  if (spec.source_address) object["sourceAddress"] = to_string(*spec.source_address);
  return object;
}

json::object to_json(const LoadBalancerStatus& status) {
  json::object object{{"addresses", to_json(status.addresses)},
                      {"observedGeneration", status.observed_generation},
                      {"appliedGeneration", status.applied_generation},
                      {"conditions", to_json(status.conditions)},
                      {"targets", json::object{{"total", status.targets},
                                               {"healthy", status.targets_healthy},
                                               {"serving", status.targets_serving}}},
                      {"repairs", status.repairs}};
  if (status.last_repair) {
    object["lastRepair"] = json::object{{"at", rfc3339_micro(*status.last_repair)},
                                        {"reason", status.last_repair_reason}};
  }
  if (!status.target_health.empty()) object["targetHealth"] = to_json(status.target_health);
  return object;
}

json::object to_json(const LoadBalancer& balancer) {
  return {{"kind", "LoadBalancer"},
          {"metadata", to_json(balancer.metadata)},
          {"spec", to_json(balancer.spec)},
          {"status", to_json(balancer.status)}};
}

LoadBalancerSpec read_load_balancer_spec(JsonReader object) {
  LoadBalancerSpec spec;
  spec.pool = text_or_empty(object, "pool");
  spec.addresses = read_ips(object, "addresses");
  if (auto families = object.optional("families")) {
    for (JsonReader& element : families->elements(kAnswerItemsMax)) {
      auto family = family_of(element.text(kAnswerTextMax));
      if (family) spec.families.push_back(*family);
    }
  }
  spec.sharing_key = text_or_empty(object, "sharingKey");
  read_listeners(object.required("listeners"), spec);
  for (JsonReader& element : object.required("targetGroups").elements(kAnswerItemsMax)) {
    spec.target_groups.push_back(read_target_group(element));
  }
  if (auto sources = object.optional("allowedSources")) {
    for (JsonReader& element : sources->elements(kAnswerItemsMax)) {
      Result<IpPrefix> prefix = parse_prefix(element.text(kAnswerTextMax));
      if (prefix) {
        spec.allowed_sources.push_back(*prefix);
      } else {
        element.refuse(prefix.error().message);
      }
    }
  }
  spec.affinity = affinity_of(text_or_empty(object, "affinity")).value_or(Affinity::none);
  spec.source_address = source_address_of(text_or_empty(object, "sourceAddress"));
  return spec;
}

LoadBalancerStatus read_load_balancer_status(JsonReader object) {
  LoadBalancerStatus status;
  status.addresses = read_ips(object, "addresses");
  status.observed_generation = count_or_zero(object, "observedGeneration");
  status.applied_generation = count_or_zero(object, "appliedGeneration");
  status.conditions = read_conditions(object);
  if (auto targets = object.optional("targets")) {
    status.targets = read_small_count(targets->required("total"));
    status.targets_healthy = read_small_count(targets->required("healthy"));
    status.targets_serving = read_small_count(targets->required("serving"));
  }
  status.repairs = count_or_zero(object, "repairs");
  if (auto repair = object.optional("lastRepair")) {
    status.last_repair = read_time(repair->required("at"));
    status.last_repair_reason = text_or_empty(*repair, "reason");
  }
  if (auto targets = object.optional("targetHealth")) {
    for (JsonReader& element : targets->elements(kTargetHealthMax)) {
      status.target_health.push_back(read_target_status(element));
    }
  }
  return status;
}

LoadBalancer read_load_balancer(JsonReader document) {
  document.required("kind").choice({"LoadBalancer"});
  return {.metadata = read_metadata(document.required("metadata")),
          .spec = read_load_balancer_spec(document.required("spec")),
          .status = read_load_balancer_status(document.required("status"))};
}

std::string encode(const LoadBalancer& balancer) { return compact_json(to_json(balancer)); }

std::string encode(const LoadBalancerList& list) { return encode_list("LoadBalancerList", list); }

Result<LoadBalancer> decode_load_balancer(std::string_view text) {
  return decode_answer("LoadBalancer", text, read_load_balancer);
}

Result<LoadBalancerList> decode_load_balancer_list(std::string_view text) {
  return decode_list_answer<LoadBalancerList>("LoadBalancerList", text, read_load_balancer);
}

std::string encode_input(const LoadBalancer& balancer) {
  return compact_json(json::object{{"kind", "LoadBalancer"},
                                   {"metadata", input_json(balancer.metadata)},
                                   {"spec", to_json(balancer.spec)}});
}

}  // namespace isthmus::infra::api
