#include "isthmus/infra/api/object_json.h"

#include "isthmus/infra/api/rules.h"
#include "isthmus/infra/api/timestamps.h"
#include "isthmus/infra/api/words.h"

namespace isthmus::infra::api {
namespace {

// A status we do not know is not known.
ConditionStatus status_of(std::string_view word) {
  for (ConditionStatus status : {ConditionStatus::is_true, ConditionStatus::is_false}) {
    if (to_string(status) == word) return status;
  }
  return ConditionStatus::unknown;
}

Condition read_condition(JsonReader condition) {
  return {.type = condition.required("type").text(kAnswerTextMax),
          .status = status_of(condition.required("status").text(kAnswerTextMax)),
          .reason = text_or_empty(condition, "reason"),
          .message = text_or_empty(condition, "message"),
          .last_transition = time_if_said(condition, "lastTransitionTime").value_or(WallTime{}),
          .observed_generation = count_or_zero(condition, "observedGeneration")};
}

void add_what_the_writer_said(const Metadata& metadata, json::object& object) {
  if (!metadata.labels.empty()) {
    json::object labels;
    for (const auto& [key, value] : metadata.labels) labels[key] = value;
    object["labels"] = std::move(labels);
  }
  if (metadata.deletion_protection) object["deletionProtection"] = true;
}

}  // namespace

std::string read_ruled(JsonReader value, std::optional<std::string> (*wrong)(std::string_view)) {
  std::string text = value.text(kAnswerTextMax);
  std::optional<std::string> mistake = text.empty() ? std::nullopt : wrong(text);
  if (mistake) value.refuse(*mistake);
  return text;
}

std::string text_or_empty(JsonReader& object, std::string_view key) {
  std::optional<JsonReader> member = object.optional(key);
  return member ? member->text(kAnswerTextMax, JsonReader::Empty::allowed) : "";
}

bool boolean_or(JsonReader& object, std::string_view key, bool otherwise) {
  std::optional<JsonReader> member = object.optional(key);
  return member ? member->boolean() : otherwise;
}

std::uint64_t read_count(JsonReader value) {
  return static_cast<std::uint64_t>(value.integer(0, kCountMax));
}

std::uint64_t count_or_zero(JsonReader& object, std::string_view key) {
  std::optional<JsonReader> member = object.optional(key);
  return member ? read_count(*member) : 0;
}

std::uint32_t read_small_count(JsonReader value) {
  return static_cast<std::uint32_t>(value.integer(0, UINT32_MAX));
}

std::uint16_t read_port(JsonReader value) {
  return static_cast<std::uint16_t>(value.integer(1, UINT16_MAX));
}

WallTime read_time(JsonReader value) {
  std::string text = value.text(kAnswerTextMax);
  std::optional<WallTime> time = parse_rfc3339(text);
  if (!time && !text.empty()) value.refuse_expected("a time as RFC 3339 writes it");
  return time.value_or(WallTime{});
}

std::optional<WallTime> time_if_said(JsonReader& object, std::string_view key) {
  std::optional<JsonReader> member = object.optional(key);
  if (!member) return std::nullopt;
  return read_time(*member);
}

IpAddress read_ip(JsonReader value) {
  std::string text = value.text(kAnswerTextMax);
  if (text.empty()) return {};
  Result<IpAddress> address = parse_ip(text);
  if (address) return *address;
  value.refuse_expected("an IP address");
  return {};
}

std::vector<IpAddress> read_ips(JsonReader& object, std::string_view key) {
  std::vector<IpAddress> addresses;
  std::optional<JsonReader> list = object.optional(key);
  if (!list) return addresses;
  for (JsonReader& element : list->elements(kAnswerItemsMax)) {
    addresses.push_back(read_ip(element));
  }
  return addresses;
}

json::array to_json(const std::vector<IpAddress>& addresses) {
  json::array list;
  list.reserve(addresses.size());
  for (const IpAddress& address : addresses) list.push_back(json::value(to_string(address)));
  return list;
}

json::object to_json(const Metadata& metadata) {
  json::object object{{"owner", metadata.owner}, {"name", metadata.name}, {"uid", metadata.uid}};
  add_what_the_writer_said(metadata, object);
  object["generation"] = metadata.generation;
  object["revision"] = metadata.revision;
  if (metadata.deletion_requested_at) {
    object["deletionRequestedAt"] = rfc3339_micro(*metadata.deletion_requested_at);
  }
  return object;
}

json::object input_json(const Metadata& metadata) {
  json::object object{{"name", metadata.name}};
  add_what_the_writer_said(metadata, object);
  return object;
}

json::array to_json(const std::vector<Condition>& conditions) {
  json::array list;
  list.reserve(conditions.size());
  for (const Condition& condition : conditions) {
    list.push_back(json::object{{"type", condition.type},
                                {"status", to_string(condition.status)},
                                {"reason", condition.reason},
                                {"message", condition.message},
                                {"lastTransitionTime", rfc3339_micro(condition.last_transition)},
                                {"observedGeneration", condition.observed_generation}});
  }
  return list;
}

Metadata read_metadata(JsonReader metadata) {
  Metadata said;
  said.owner = read_ruled(metadata.required("owner"), wrong_name);
  said.name = read_ruled(metadata.required("name"), wrong_object_name);
  said.uid = metadata.required("uid").text(kAnswerTextMax);
  if (auto labels = metadata.optional("labels")) {
    for (auto& [key, value] : labels->members(kAnswerItemsMax)) {
      said.labels[key] = value.text(kAnswerTextMax, JsonReader::Empty::allowed);
    }
  }
  said.deletion_protection = boolean_or(metadata, "deletionProtection", false);
  said.generation = read_count(metadata.required("generation"));
  said.revision = read_count(metadata.required("revision"));
  said.deletion_requested_at = time_if_said(metadata, "deletionRequestedAt");
  return said;
}

std::vector<Condition> read_conditions(JsonReader& status) {
  std::vector<Condition> conditions;
  std::optional<JsonReader> list = status.optional("conditions");
  if (!list) return conditions;
  for (JsonReader& element : list->elements(kAnswerItemsMax)) {
    conditions.push_back(read_condition(element));
  }
  return conditions;
}

}  // namespace isthmus::infra::api
