#include "isthmus/infra/api/instance.h"

#include <fmt/format.h>

#include <array>
#include <optional>
#include <utility>

#include "isthmus/base/json.h"
#include "isthmus/base/text.h"
#include "isthmus/infra/api/instance_json.h"
#include "isthmus/infra/api/rules.h"

namespace isthmus::infra::api {
namespace {

constexpr std::array<std::pair<AddressType, std::string_view>, 5> kAddressTypes = {{
    {AddressType::internal_ip, "InternalIP"},
    {AddressType::external_ip, "ExternalIP"},
    {AddressType::hostname, "Hostname"},
    {AddressType::internal_dns, "InternalDNS"},
    {AddressType::external_dns, "ExternalDNS"},
}};
constexpr std::array<std::pair<Power, std::string_view>, 3> kPowers = {{
    {Power::unknown, "unknown"},
    {Power::running, "running"},
    {Power::stopped, "stopped"},
}};
constexpr std::array<std::pair<State, std::string_view>, 2> kStates = {{
    {State::active, "active"},
    {State::retired, "retired"},
}};
constexpr std::array<std::pair<Presence, std::string_view>, 3> kPresences = {{
    {Presence::present, "present"},
    {Presence::unknown, "unknown"},
    {Presence::absent, "absent"},
}};

template <class Table, class Value>
std::string_view word_of(const Table& table, Value value) {
  for (const auto& [known, word] : table) {
    if (known == value) return word;
  }
  return "";
}

template <class Value, std::size_t count>
std::optional<Value> value_of(const std::array<std::pair<Value, std::string_view>, count>& table,
                              std::string_view text) {
  for (const auto& [value, word] : table) {
    if (word == text) return value;
  }
  return std::nullopt;
}

// Generous: what a newer or foreign server says may be longer than what we would say.
constexpr std::size_t kTextMax = 64 * 1024;
constexpr std::size_t kItemsMax = 10'000;
constexpr JsonLimits kListLimits{.bytes_max = 64 * 1024 * 1024, .depth_max = 32};
constexpr std::uint64_t kRevisionMax = (std::uint64_t{1} << 53) - 1;  // What JSON numbers hold.

std::string text_or_empty(JsonReader& object, std::string_view key) {
  std::optional<JsonReader> member = object.optional(key);
  return member ? member->text(kTextMax, JsonReader::Empty::allowed) : "";
}

// A text that keeps a rule of rules.h.
std::string ruled(JsonReader value, std::optional<std::string> (*wrong)(std::string_view)) {
  std::string text = value.text(kTextMax);
  std::optional<std::string> mistake = text.empty() ? std::nullopt : wrong(text);
  if (mistake) value.refuse(*mistake);
  return text;
}

std::uint64_t revision_of(JsonReader value) {
  return static_cast<std::uint64_t>(value.integer(0, kRevisionMax));
}

void read_addresses(JsonReader& spec, Instance& instance) {
  std::optional<JsonReader> addresses = spec.optional("addresses");
  if (!addresses) return;
  for (JsonReader& element : addresses->elements(kItemsMax)) {
    std::string word = element.required("type").text(kTextMax);
    std::string address = element.required("address").text(kTextMax);
    std::optional<AddressType> type = value_of(kAddressTypes, word);
    if (type) instance.addresses.push_back({*type, std::move(address)});
  }
}

}  // namespace

std::string_view to_string(AddressType type) { return word_of(kAddressTypes, type); }
std::string_view to_string(Power power) { return word_of(kPowers, power); }
std::string_view to_string(State state) { return word_of(kStates, state); }
std::string_view to_string(Presence presence) { return word_of(kPresences, presence); }

std::optional<AddressType> address_type_of(std::string_view word) {
  return value_of(kAddressTypes, word);
}
std::optional<Power> power_of(std::string_view word) { return value_of(kPowers, word); }
std::optional<State> state_of(std::string_view word) { return value_of(kStates, word); }

json::object to_json(const Instance& instance) {
  json::object metadata{{"uid", instance.uid}, {"name", instance.name}};
  if (!instance.labels.empty()) {
    json::object labels;
    for (const auto& [key, value] : instance.labels) labels[key] = value;
    metadata["labels"] = std::move(labels);
  }
  metadata["revision"] = instance.revision;
  metadata["generation"] = instance.generation;

  json::object spec;
  json::array addresses;
  for (const Address& address : instance.addresses) {
    addresses.push_back(
        json::object{{"type", to_string(address.type)}, {"address", address.address}});
  }
  spec["addresses"] = std::move(addresses);
  if (!instance.type.empty()) spec["type"] = instance.type;
  if (!instance.region.empty()) spec["region"] = instance.region;
  if (!instance.zone.empty()) spec["zone"] = instance.zone;
  if (!instance.system_uuid.empty()) spec["systemUUID"] = instance.system_uuid;
  spec["state"] = to_string(instance.state);

  json::object status{{"power", to_string(instance.power)},
                      {"presence", to_string(instance.presence)}};
  if (instance.last_confirmed_at != WallTime{}) {
    status["lastConfirmedAt"] = rfc3339(instance.last_confirmed_at);
  }
  return {{"kind", "Instance"},
          {"metadata", std::move(metadata)},
          {"spec", std::move(spec)},
          {"status", std::move(status)}};
}

Instance read_instance(JsonReader document) {
  Instance instance;
  document.required("kind").choice({"Instance"});
  JsonReader metadata = document.required("metadata");
  instance.uid = ruled(metadata.required("uid"), wrong_uid);
  instance.name = ruled(metadata.required("name"), wrong_name);
  instance.revision = revision_of(metadata.required("revision"));
  if (auto generation = metadata.optional("generation")) {
    instance.generation = revision_of(*generation);
  }
  if (auto labels = metadata.optional("labels")) {
    for (auto& [key, value] : labels->members(kItemsMax)) {
      instance.labels[key] = value.text(kTextMax, JsonReader::Empty::allowed);
    }
  }

  JsonReader spec = document.required("spec");
  read_addresses(spec, instance);
  instance.type = text_or_empty(spec, "type");
  instance.region = text_or_empty(spec, "region");
  instance.zone = text_or_empty(spec, "zone");
  instance.system_uuid = lower_case(text_or_empty(spec, "systemUUID"));
  instance.state = state_of(text_or_empty(spec, "state")).value_or(State::active);

  JsonReader status = document.required("status");
  instance.power = power_of(text_or_empty(status, "power")).value_or(Power::unknown);
  JsonReader presence = status.required("presence");
  instance.presence = value_of(kPresences, presence.text(kTextMax)).value_or(Presence::unknown);
  const bool contradicts = instance.state == State::retired ? instance.presence == Presence::present
                                                            : instance.presence == Presence::absent;
  if (contradicts) {
    presence.refuse(fmt::format("{} contradicts the state {}", to_string(instance.presence),
                                to_string(instance.state)));
  }
  if (auto confirmed = status.optional("lastConfirmedAt")) {
    std::optional<WallTime> time = parse_rfc3339(confirmed->text(kTextMax));
    if (time) {
      instance.last_confirmed_at = *time;
    } else {
      confirmed->refuse_expected("a time as RFC 3339 writes it");
    }
  }
  return instance;
}

std::string encode(const Instance& instance) { return compact_json(to_json(instance)); }

std::string encode(const InstanceList& list) {
  json::object metadata{{"revision", list.revision}};
  if (!list.continue_token.empty()) metadata["continue"] = list.continue_token;
  json::array items;
  items.reserve(list.items.size());
  for (const Instance& item : list.items) items.push_back(to_json(item));
  return compact_json(json::object{
      {"kind", "InstanceList"}, {"metadata", std::move(metadata)}, {"items", std::move(items)}});
}

Result<Instance> decode_instance(std::string_view text) {
  Result<json::value> document = parse_json(text);
  if (!document) return fail(Outcome::lost, "not an Instance: " + document.error().message);
  Mistakes mistakes;
  Instance instance = read_instance(JsonReader(*document, mistakes));
  if (!mistakes.empty()) return fail(Outcome::lost, "not an Instance: " + mistakes.text());
  return instance;
}

Result<InstanceList> decode_instance_list(std::string_view text) {
  Result<json::value> document = parse_json(text, kListLimits);
  if (!document) return fail(Outcome::lost, "not an InstanceList: " + document.error().message);
  Mistakes mistakes;
  JsonReader reader(*document, mistakes);
  InstanceList list;
  reader.required("kind").choice({"InstanceList"});
  JsonReader metadata = reader.required("metadata");
  list.revision = revision_of(metadata.required("revision"));
  if (auto more = metadata.optional("continue")) list.continue_token = more->text(kTextMax);
  for (JsonReader& item : reader.required("items").elements(kItemsMax)) {
    Mistakes of_item;
    Instance instance = read_instance(JsonReader(item.value(), of_item));
    if (of_item.empty()) {
      list.items.push_back(std::move(instance));
    } else {
      ++list.not_understood;
    }
  }
  if (!mistakes.empty()) return fail(Outcome::lost, "not an InstanceList: " + mistakes.text());
  return list;
}

}  // namespace isthmus::infra::api
