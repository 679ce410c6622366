#include "isthmus/infra/api/instance_input.h"

#include <algorithm>
#include <utility>

#include "isthmus/infra/api/input_json.h"
#include "isthmus/infra/api/instance_json.h"
#include "isthmus/infra/api/rules.h"

namespace isthmus::infra::api {
namespace {

void read_address(JsonReader element, Instance& instance) {
  JsonReader word = element.required("type");
  std::string type_word =
      word.choice({"InternalIP", "ExternalIP", "Hostname", "InternalDNS", "ExternalDNS"});
  JsonReader text = element.required("address");
  Address address{address_type_of(type_word).value_or(AddressType::hostname), text.text()};
  element.no_other_fields();
  if (address.address.empty() || type_word.empty()) return;
  if (auto mistake = canonicalize(address)) text.refuse(*mistake);
  if (std::ranges::find(instance.addresses, address) != instance.addresses.end()) {
    element.refuse("is given twice");
  }
  instance.addresses.push_back(std::move(address));
}

void read_metadata(JsonReader metadata, std::string_view uid, Instance& instance) {
  instance.uid = uid;
  must_be_of_path(metadata, "uid", uid);
  instance.name = ruled_text(metadata.required("name"), wrong_name);
  instance.labels = input_labels(metadata);
  pass_over(metadata, {"revision", "generation"});
  metadata.no_other_fields();
}

void read_spec(JsonReader spec, Instance& instance) {
  if (auto addresses = spec.optional("addresses")) {
    for (JsonReader& element : addresses->elements(kAddressesMax)) read_address(element, instance);
  }
  constexpr auto kMayBeEmpty = JsonReader::Empty::allowed;
  instance.type = optional_ruled_text(spec, "type", wrong_label_value, kMayBeEmpty);
  instance.region = optional_ruled_text(spec, "region", wrong_label_value, kMayBeEmpty);
  instance.zone = optional_ruled_text(spec, "zone", wrong_label_value, kMayBeEmpty);
  instance.system_uuid = canonical_system_uuid(
      optional_ruled_text(spec, "systemUUID", wrong_system_uuid, kMayBeEmpty));
  if (auto state = spec.optional("state")) {
    instance.state = state_of(state->choice({"active", "retired"})).value_or(State::active);
  }
  spec.no_other_fields();
}

void read_status(JsonReader status, Instance& instance) {
  if (auto power = status.optional("power")) {
    instance.power =
        power_of(power->choice({"running", "stopped", "unknown"})).value_or(Power::unknown);
  }
  pass_over(status, {"presence", "lastConfirmedAt"});
  status.no_other_fields();
}

}  // namespace

std::optional<std::string> canonicalize(Address& address) {
  if (address.type == AddressType::internal_ip || address.type == AddressType::external_ip) {
    std::optional<std::string> form = canonical_ip(address.address);
    if (!form) return wrong_ip(address.address);
    address.address = std::move(*form);
    return std::nullopt;
  }
  return wrong_hostname(address.address);
}

InstanceInput decode_instance_input(std::string_view text, std::string_view uid) {
  InstanceInput input;
  BodyErrors found = read_body(text, [&](JsonReader body) {
    if (auto kind = body.optional("kind")) kind->choice({"Instance"});
    read_metadata(body.required("metadata"), uid, input.instance);
    if (auto spec = body.optional("spec")) read_spec(*spec, input.instance);
    if (auto status = body.optional("status")) read_status(*status, input.instance);
    body.no_other_fields();
  });
  input.unreadable = std::move(found.unreadable);
  input.errors = std::move(found.errors);
  return input;
}

}  // namespace isthmus::infra::api
