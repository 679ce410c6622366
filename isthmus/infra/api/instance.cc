#include "isthmus/infra/api/instance.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "isthmus/infra/api/instance_json.h"
#include "isthmus/infra/api/object_json.h"
#include "isthmus/infra/api/rules.h"
#include "isthmus/infra/api/words.h"

namespace isthmus::infra::api {
namespace {

constexpr Words<AddressType, 5> kAddressTypes = {{
    {AddressType::internal_ip, "InternalIP"},
    {AddressType::external_ip, "ExternalIP"},
    {AddressType::hostname, "Hostname"},
    {AddressType::internal_dns, "InternalDNS"},
    {AddressType::external_dns, "ExternalDNS"},
}};
constexpr Words<Power, 3> kPowers = {{
    {Power::unknown, "unknown"},
    {Power::running, "running"},
    {Power::stopped, "stopped"},
}};
constexpr Words<State, 2> kStates = {{
    {State::active, "active"},
    {State::retired, "retired"},
}};
constexpr Words<Presence, 3> kPresences = {{
    {Presence::present, "present"},
    {Presence::unknown, "unknown"},
    {Presence::absent, "absent"},
}};

void read_addresses(JsonReader& spec, Instance& instance) {
  std::optional<JsonReader> addresses = spec.optional("addresses");
  if (!addresses) return;
  for (JsonReader& element : addresses->elements(kAnswerItemsMax)) {
    std::string word = element.required("type").text(kAnswerTextMax);
    std::string address = element.required("address").text(kAnswerTextMax);
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
  instance.uid = read_ruled(metadata.required("uid"), wrong_uid);
  instance.name = read_ruled(metadata.required("name"), wrong_name);
  instance.revision = read_count(metadata.required("revision"));
  instance.generation = count_or_zero(metadata, "generation");
  if (auto labels = metadata.optional("labels")) {
    for (auto& [key, value] : labels->members(kAnswerItemsMax)) {
      instance.labels[key] = value.text(kAnswerTextMax, JsonReader::Empty::allowed);
    }
  }

  JsonReader spec = document.required("spec");
  read_addresses(spec, instance);
  instance.type = text_or_empty(spec, "type");
  instance.region = text_or_empty(spec, "region");
  instance.zone = text_or_empty(spec, "zone");
  instance.system_uuid = canonical_system_uuid(text_or_empty(spec, "systemUUID"));
  instance.state = state_of(text_or_empty(spec, "state")).value_or(State::active);

  JsonReader status = document.required("status");
  instance.power = power_of(text_or_empty(status, "power")).value_or(Power::unknown);
  JsonReader presence = status.required("presence");
  instance.presence =
      value_of(kPresences, presence.text(kAnswerTextMax)).value_or(Presence::unknown);
  const bool contradicts = instance.state == State::retired ? instance.presence == Presence::present
                                                            : instance.presence == Presence::absent;
  if (contradicts) {
    presence.refuse(fmt::format("{} contradicts the state {}", to_string(instance.presence),
                                to_string(instance.state)));
  }
  instance.last_confirmed_at = time_if_said(status, "lastConfirmedAt").value_or(WallTime{});
  return instance;
}

std::string encode(const Instance& instance) { return compact_json(to_json(instance)); }

std::string encode(const InstanceList& list) { return encode_list("InstanceList", list); }

Result<Instance> decode_instance(std::string_view text) {
  return decode_answer("Instance", text, read_instance);
}

Result<InstanceList> decode_instance_list(std::string_view text) {
  return decode_list_answer<InstanceList>("InstanceList", text, read_instance);
}

}  // namespace isthmus::infra::api
