#include "isthmus/infra/api/instance_input.h"

#include <fmt/format.h>

#include <algorithm>

#include "isthmus/base/json.h"
#include "isthmus/base/json_keys.h"
#include "isthmus/infra/api/instance_json.h"
#include "isthmus/infra/api/rules.h"

namespace isthmus::infra::api {
namespace {

using Rule = std::optional<std::string> (*)(std::string_view);

// A text that keeps a rule; what does not is quoted in the mistake.
std::string ruled(JsonReader value, Rule wrong, JsonReader::Empty empty) {
  constexpr std::size_t kTextMax = 4096;
  std::string text = value.text(kTextMax, empty);
  std::optional<std::string> mistake = text.empty() ? std::nullopt : wrong(text);
  if (mistake) value.refuse(*mistake);
  return text;
}

std::string optional_ruled(JsonReader& object, std::string_view key, Rule wrong) {
  std::optional<JsonReader> member = object.optional(key);
  return member ? ruled(*member, wrong, JsonReader::Empty::allowed) : "";
}

void read_labels(JsonReader& metadata, Instance& instance) {
  std::optional<JsonReader> labels = metadata.optional("labels");
  if (!labels) return;
  for (auto& [key, value] : labels->members(kLabelsMax)) {
    if (auto mistake = wrong_label_key(key)) value.refuse(*mistake);
    instance.labels[key] = ruled(value, wrong_label_value, JsonReader::Empty::allowed);
  }
}

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
  if (auto given = metadata.optional("uid")) {
    std::string text = given->text();
    if (!text.empty() && text != uid) {
      given->refuse(fmt::format("expected the uid of the path, {}", uid));
    }
  }
  instance.name = ruled(metadata.required("name"), wrong_name, JsonReader::Empty::refused);
  read_labels(metadata, instance);
  // What the server owns may come back as it was answered, and says nothing.
  (void)metadata.optional("revision");
  (void)metadata.optional("generation");
  metadata.no_other_fields();
}

void read_spec(JsonReader spec, Instance& instance) {
  if (auto addresses = spec.optional("addresses")) {
    for (JsonReader& element : addresses->elements(kAddressesMax)) read_address(element, instance);
  }
  instance.type = optional_ruled(spec, "type", wrong_label_value);
  instance.region = optional_ruled(spec, "region", wrong_label_value);
  instance.zone = optional_ruled(spec, "zone", wrong_label_value);
  instance.system_uuid = lower_case(optional_ruled(spec, "systemUUID", wrong_system_uuid));
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
  (void)status.optional("presence");
  (void)status.optional("lastConfirmedAt");
  status.no_other_fields();
}

std::vector<FieldError> as_field_errors(const Mistakes& mistakes) {
  std::vector<FieldError> errors;
  for (const std::string& mistake : mistakes.list()) {
    std::size_t colon = mistake.starts_with('/') ? mistake.find(": ") : std::string::npos;
    if (colon == std::string::npos) {
      errors.push_back({"", mistake});
    } else {
      errors.push_back({mistake.substr(0, colon), mistake.substr(colon + 2)});
    }
  }
  if (mistakes.count() > errors.size()) {
    errors.push_back({"", fmt::format("and {} more", mistakes.count() - errors.size())});
  }
  return errors;
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
  Result<json::value> document = parse_json(text);
  if (!document) {
    input.unreadable = document.error().message;
    return input;
  }
  Mistakes mistakes;
  // Of two values only one could be obeyed, and nobody would learn which.
  for (const std::string& pointer : doubled_keys(text)) mistakes.add(pointer, "is given twice");
  JsonReader reader(*document, mistakes);
  if (auto kind = reader.optional("kind")) kind->choice({"Instance"});
  read_metadata(reader.required("metadata"), uid, input.instance);
  if (auto spec = reader.optional("spec")) read_spec(*spec, input.instance);
  if (auto status = reader.optional("status")) read_status(*status, input.instance);
  reader.no_other_fields();
  input.errors = as_field_errors(mistakes);
  return input;
}

}  // namespace isthmus::infra::api
