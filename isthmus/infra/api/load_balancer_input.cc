#include "isthmus/infra/api/load_balancer_input.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "isthmus/base/duration.h"
#include "isthmus/infra/api/input_json.h"
#include "isthmus/infra/api/load_balancer_json.h"
#include "isthmus/infra/api/rules.h"

namespace isthmus::infra::api {
namespace {

constexpr Duration kIntervalMin = std::chrono::milliseconds(100);
constexpr Duration kIntervalMax = std::chrono::hours(1);
constexpr Duration kTimeoutMin = std::chrono::milliseconds(10);
constexpr std::int64_t kInARowMax = 100;
constexpr std::size_t kPathBytesMax = 1024;
constexpr std::size_t kSharingKeyBytesMax = 253;

// Where a name was said; looked at once all are read.
using Mention = std::pair<std::string, JsonReader>;

bool is_printable(char c) { return c > ' ' && c <= '~'; }

std::optional<std::string> wrong_path(std::string_view text) {
  if (text.size() <= kPathBytesMax && text.starts_with('/') &&
      std::ranges::all_of(text, is_printable)) {
    return std::nullopt;
  }
  return fmt::format("expected a path that begins with '/', of at most {} printable characters",
                     kPathBytesMax);
}

std::optional<std::string> wrong_sharing_key(std::string_view text) {
  if (text.size() <= kSharingKeyBytesMax && std::ranges::all_of(text, is_printable)) {
    return std::nullopt;
  }
  return fmt::format("expected at most {} printable characters without spaces",
                     kSharingKeyBytesMax);
}

std::uint16_t input_port(JsonReader value) {
  return static_cast<std::uint16_t>(value.integer(1, UINT16_MAX));
}

std::uint32_t input_weight(JsonReader& target) {
  std::optional<JsonReader> weight = target.optional("weight");
  return weight ? static_cast<std::uint32_t>(weight->integer(0, kWeightMax)) : 1;
}

bool input_flag(JsonReader& object, std::string_view key) {
  std::optional<JsonReader> flag = object.optional(key);
  return flag && flag->boolean();
}

Duration bounded(JsonReader value, Duration low, Duration high) {
  Duration duration = value.duration();
  // Zero is also what a mistake that was said already reads as.
  bool is_said = value.value().is_string() && parse_duration(value.value().as_string());
  if (is_said && (duration < low || duration > high)) {
    value.refuse_expected(
        fmt::format("a duration from {} to {}", format_duration(low), format_duration(high)));
  }
  return duration;
}

// Whether all of them were right.
bool read_addresses(JsonReader& object, LoadBalancerSpec& spec) {
  std::optional<JsonReader> addresses = object.optional("addresses");
  if (!addresses) return true;
  bool all_right = addresses->value().is_array();
  for (JsonReader& element : addresses->elements(kBalancerAddressesMax)) {
    std::optional<IpAddress> address = reachable_ip(element);
    if (address && std::ranges::find(spec.addresses, *address) != spec.addresses.end()) {
      element.refuse("is given twice");
    } else if (address) {
      spec.addresses.push_back(*address);
    }
    all_right = all_right && address;
  }
  return all_right;
}

void read_families(JsonReader& object, bool are_addresses_right, LoadBalancerSpec& spec) {
  std::vector<IpFamily> of_addresses;
  auto has = [](const std::vector<IpFamily>& families, IpFamily family) {
    return std::ranges::find(families, family) != families.end();
  };
  for (const IpAddress& address : spec.addresses) {
    if (!has(of_addresses, address.family)) of_addresses.push_back(address.family);
  }
  std::optional<JsonReader> families = object.optional("families");
  if (!families) {
    spec.families = of_addresses.empty() ? std::vector{IpFamily::v4} : of_addresses;
    return;
  }
  for (JsonReader& element : at_least_one(*families, 2)) {
    std::optional<IpFamily> family = family_of(element.choice({"IPv4", "IPv6"}));
    if (!family) continue;
    if (has(spec.families, *family)) element.refuse("is given twice");
    spec.families.push_back(*family);
  }
  if (spec.addresses.empty() || spec.families.empty() || !are_addresses_right) return;
  for (IpFamily family : {IpFamily::v4, IpFamily::v6}) {
    if (has(spec.families, family) && !has(of_addresses, family)) {
      families->refuse(fmt::format("names {}, and no address is one", to_string(family)));
    }
    if (!has(spec.families, family) && has(of_addresses, family)) {
      families->refuse(fmt::format("does not name {}, and an address is one", to_string(family)));
    }
  }
}

// The word of the protocol; empty for none.
std::string read_protocol(JsonReader& listener, std::vector<FieldError>& not_offered) {
  std::optional<JsonReader> protocol = listener.optional("protocol");
  if (!protocol) return "TCP";
  if (protocol->value() == json::value("SCTP")) {
    not_offered.push_back({protocol->pointer(), "SCTP"});
    return "SCTP";
  }
  return protocol->choice({"TCP", "UDP"});
}

void read_listeners(JsonReader listeners, Input<LoadBalancer>& input,
                    std::vector<Mention>& groups_wanted) {
  std::set<std::string> names;
  std::set<std::pair<std::string, std::uint16_t>> ports;
  for (JsonReader& element : at_least_one(listeners, kListenersMax)) {
    Listener listener;
    std::string protocol = read_protocol(element, input.not_offered);
    listener.protocol = protocol == "UDP" ? Protocol::udp : Protocol::tcp;
    JsonReader port = element.required("port");
    listener.port = input_port(port);
    const bool is_said = listener.port != 0 && !protocol.empty();
    const bool is_free = !is_said || ports.emplace(protocol, listener.port).second;
    if (!is_free) {
      port.refuse(fmt::format("{} {} is the port of another listener", protocol, listener.port));
    }
    std::optional<JsonReader> name = element.optional("name");
    listener.name = name ? ruled_text(*name, wrong_object_name)
                         : fmt::format("{}-{}", lower_case(protocol), listener.port);
    // Of a name by default the same was said of the port already.
    if (!listener.name.empty() && (name || (is_said && is_free)) &&
        !names.insert(listener.name).second) {
      (name ? *name : port).refuse(listener.name + " is the name of another listener");
    }
    JsonReader group = element.required("targetGroup");
    listener.target_group = ruled_text(group, wrong_object_name);
    groups_wanted.emplace_back(listener.target_group, group);
    element.no_other_fields();
    if (protocol != "SCTP") input.object.spec.listeners.push_back(std::move(listener));
  }
}

HealthCheck read_health_check(JsonReader object) {
  HealthCheck check;
  if (auto protocol = object.optional("protocol")) {
    bool is_http = protocol->choice({"TCP", "HTTP"}) == "HTTP";
    check.protocol = is_http ? HealthCheck::Protocol::http : HealthCheck::Protocol::tcp;
  }
  if (auto port = object.optional("port")) check.port = input_port(*port);
  if (auto path = object.optional("path")) {
    check.path = ruled_text(*path, wrong_path);
    if (check.protocol != HealthCheck::Protocol::http) path->refuse("only HTTP checks have one");
  }
  if (auto interval = object.optional("interval")) {
    check.interval = bounded(*interval, kIntervalMin, kIntervalMax);
  }
  if (auto timeout = object.optional("timeout")) {
    check.timeout = bounded(*timeout, kTimeoutMin, kIntervalMax);
    if (check.timeout > check.interval && check.interval >= kIntervalMin) {
      timeout->refuse(
          fmt::format("is longer than the interval, {}", format_duration(check.interval)));
    }
  } else {
    check.timeout = std::min(check.timeout, check.interval);
  }
  auto in_a_row = [](JsonReader value) {
    return static_cast<std::uint32_t>(value.integer(1, kInARowMax));
  };
  if (auto rise = object.optional("rise")) check.rise = in_a_row(*rise);
  if (auto fall = object.optional("fall")) check.fall = in_a_row(*fall);
  object.no_other_fields();
  return check;
}

void read_targets(JsonReader targets, TargetGroup& group) {
  std::vector<JsonReader> elements = targets.elements(kTargetsMax);
  std::set<Endpoint> endpoints;
  group.targets.reserve(elements.size());
  for (JsonReader& element : elements) {
    Target target;
    std::optional<IpAddress> address = reachable_ip(element.required("address"));
    target.port = input_port(element.required("port"));
    target.weight = input_weight(element);
    target.drain = input_flag(element, "drain");
    element.no_other_fields();
    if (!address) continue;
    target.address = *address;
    if (target.port != 0 && !endpoints.insert({target.address, target.port}).second) {
      element.refuse("is given twice");
    }
    group.targets.push_back(target);
  }
}

TargetGroup read_target_group(JsonReader object, std::vector<Mention>& groups_given) {
  TargetGroup group;
  JsonReader name = object.required("name");
  group.name = ruled_text(name, wrong_object_name);
  if (!group.name.empty() && std::ranges::any_of(groups_given, [&](const Mention& other) {
        return other.first == group.name;
      })) {
    name.refuse(group.name + " is the name of another group");
  } else {
    groups_given.emplace_back(group.name, object);
  }
  std::optional<JsonReader> set = object.optional("targetSet");
  std::optional<JsonReader> targets = object.optional("targets");
  std::optional<JsonReader> port = object.optional("port");
  if (set) {
    group.target_set = ruled_text(*set, wrong_object_name);
    group.port = input_port(object.required("port"));
    if (targets) targets->refuse("may not be there beside a target set");
  } else if (targets) {
    read_targets(*targets, group);
    if (port) port->refuse("is that of a target set's targets; here each target has its own");
  } else {
    object.refuse("needs either a targetSet and a port, or targets");
  }
  if (auto check = object.optional("healthCheck")) group.health_check = read_health_check(*check);
  object.no_other_fields();
  return group;
}

// Nothing is said where a list could not be read: its own mistake explains more.
void match_groups(std::vector<Mention>& wanted, std::vector<Mention>& given) {
  if (wanted.empty() || given.empty()) return;
  std::set<std::string, std::less<>> names;
  for (const auto& [name, group] : given) names.insert(name);
  bool are_all_named = true;
  std::set<std::string, std::less<>> used;
  for (auto& [name, at] : wanted) {
    are_all_named = are_all_named && !name.empty();
    used.insert(name);
    if (!name.empty() && !names.contains(name)) at.refuse("there is no target group " + name);
  }
  if (!are_all_named) return;
  for (auto& [name, group] : given) {
    if (!name.empty() && !used.contains(name)) group.refuse("no listener uses it");
  }
}

void read_spec(JsonReader object, Input<LoadBalancer>& input) {
  LoadBalancerSpec& spec = input.object.spec;
  spec.pool = optional_ruled_text(object, "pool", wrong_object_name);
  bool are_addresses_right = read_addresses(object, spec);
  read_families(object, are_addresses_right, spec);
  spec.sharing_key = optional_ruled_text(object, "sharingKey", wrong_sharing_key);
  std::vector<Mention> groups_wanted;
  std::vector<Mention> groups_given;
  read_listeners(object.required("listeners"), input, groups_wanted);
  for (JsonReader& group : at_least_one(object.required("targetGroups"), kTargetGroupsMax)) {
    spec.target_groups.push_back(read_target_group(group, groups_given));
  }
  match_groups(groups_wanted, groups_given);
  if (auto sources = object.optional("allowedSources")) {
    std::set<IpPrefix> prefixes;
    for (JsonReader& element : sources->elements(kAllowedSourcesMax)) {
      std::optional<IpPrefix> source = clean_prefix(element);
      if (!source) continue;
      if (!prefixes.insert(*source).second) element.refuse("is given twice");
      spec.allowed_sources.push_back(*source);
    }
  }
  if (auto affinity = object.optional("affinity")) {
    spec.affinity = affinity_of(affinity->choice({"None", "ClientIP"})).value_or(Affinity::none);
  }
  if (auto source_address = object.optional("sourceAddress")) {
    spec.source_address = source_address_of(source_address->choice({"masquerade", "keep"}));
  }
  object.no_other_fields();
}

// What is already known of the set while its targets are read.
struct SetSoFar {
  std::set<std::string> names;
  std::map<IpAddress, std::string> addresses;  // And whose they are.
};

SetTarget read_set_target(JsonReader object, SetSoFar& so_far) {
  SetTarget target;
  JsonReader name = object.required("name");
  target.name = ruled_text(name, wrong_name);
  if (!target.name.empty() && !so_far.names.insert(target.name).second) {
    name.refuse("is the name of another target");
  }
  for (JsonReader& element : at_least_one(object.required("addresses"), 2)) {
    std::optional<IpAddress> address = reachable_ip(element);
    if (!address) continue;
    auto [holder, is_new] = so_far.addresses.emplace(*address, target.name);
    if (!is_new) {
      element.refuse("is the address of " + holder->second);
    } else if (!target.addresses.empty() && target.addresses[0].family == address->family) {
      element.refuse(fmt::format("is the second {} address", to_string(address->family)));
    }
    target.addresses.push_back(*address);
  }
  target.weight = input_weight(object);
  target.drain = input_flag(object, "drain");
  object.no_other_fields();
  return target;
}

void read_spec(JsonReader object, TargetSet& set) {
  std::vector<JsonReader> targets = object.required("targets").elements(kTargetsMax);
  SetSoFar so_far;
  set.targets.reserve(targets.size());
  for (JsonReader& target : targets) set.targets.push_back(read_set_target(target, so_far));
  object.no_other_fields();
}

}  // namespace

Input<LoadBalancer> decode_load_balancer_input(std::string_view text, std::string_view owner,
                                               std::string_view name) {
  return decode_input<LoadBalancer>(
      "LoadBalancer", text, owner, name,
      [](JsonReader spec, Input<LoadBalancer>& input) { read_spec(std::move(spec), input); });
}

Input<TargetSet> decode_target_set_input(std::string_view text, std::string_view owner,
                                         std::string_view name) {
  return decode_input<TargetSet>(
      "TargetSet", text, owner, name,
      [](JsonReader spec, Input<TargetSet>& input) { read_spec(std::move(spec), input.object); });
}

}  // namespace isthmus::infra::api
