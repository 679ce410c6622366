#include "isthmus/infra/record_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

#include "isthmus/infra/api/timestamps.h"
#include "isthmus/infra/store/store.h"

namespace isthmus::infra::record_json {
namespace {

// More than any rule of the API allows; a record with more is damage. A text may be as long as the
// store takes, so that nothing is written that could not be read.
constexpr std::size_t kLabelsMax = 1000;
constexpr std::size_t kConditionsMax = 100;
constexpr std::size_t kTextMax = kValueBytesMax;

// The last that can be read again. A clock that says more is wrong, and would leave records behind
// that nobody could read once it is right.
constexpr WallTime kLatest{
    std::chrono::sys_days{std::chrono::year{2200} / 12 / 31}.time_since_epoch()};

}  // namespace

std::string exact(WallTime time) {
  time = std::min(time, kLatest);
  std::string text = rfc3339(time);
  auto fraction = time - std::chrono::floor<std::chrono::seconds>(time);
  if (fraction == Duration::zero()) return text;
  text.pop_back();  // The Z.
  return fmt::format("{}.{:09}Z", text, Duration(fraction).count());
}

std::optional<WallTime> read_time(JsonReader& document, std::string_view key) {
  std::optional<JsonReader> member = document.optional(key);
  if (!member) return std::nullopt;
  std::optional<WallTime> time = api::parse_rfc3339(member->text());
  if (!time) member->refuse_expected("a time");
  return time;
}

std::string read_text(JsonReader& document, std::string_view key) {
  std::optional<JsonReader> member = document.optional(key);
  return member ? member->text(kTextMax) : "";
}

bool read_flag(JsonReader& document, std::string_view key) {
  std::optional<JsonReader> member = document.optional(key);
  return member && member->boolean();
}

std::uint64_t read_count(JsonReader& document, std::string_view key) {
  std::optional<JsonReader> member = document.optional(key);
  if (!member) return 0;
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  return static_cast<std::uint64_t>(member->integer(0, kMax));
}

IpAddress read_ip(JsonReader reader) {
  Result<IpAddress> address = parse_ip(reader.text());
  if (address) return *address;
  if (!reader.missing()) reader.refuse_expected("an IP address");
  return {};
}

json::array to_json(const std::vector<IpAddress>& addresses) {
  json::array list;
  for (const IpAddress& address : addresses) list.emplace_back(to_string(address));
  return list;
}

std::vector<IpAddress> read_ips(JsonReader& document, std::string_view key, std::size_t count_max) {
  std::vector<IpAddress> addresses;
  std::optional<JsonReader> list = document.optional(key);
  if (!list) return addresses;
  for (JsonReader& element : list->elements(count_max)) addresses.push_back(read_ip(element));
  return addresses;
}

json::object to_json(const api::Metadata& metadata) {
  json::object document{{"owner", metadata.owner},
                        {"name", metadata.name},
                        {"uid", metadata.uid},
                        {"generation", metadata.generation}};
  if (!metadata.labels.empty()) {
    json::object labels;
    for (const auto& [key, value] : metadata.labels) labels[key] = value;
    document["labels"] = std::move(labels);
  }
  if (metadata.deletion_protection) document["deletionProtection"] = true;
  if (metadata.deletion_requested_at) {
    document["deletionRequestedAt"] = exact(*metadata.deletion_requested_at);
  }
  return document;
}

namespace {

json::object to_json(const api::Condition& condition) {
  json::object document{{"status", api::to_string(condition.status)},
                        {"lastTransition", exact(condition.last_transition)},
                        {"observedGeneration", condition.observed_generation}};
  if (!condition.type.empty()) document["type"] = condition.type;
  if (!condition.reason.empty()) document["reason"] = condition.reason;
  if (!condition.message.empty()) document["message"] = condition.message;
  return document;
}

api::Condition read_condition(JsonReader document) {
  api::Condition condition;
  condition.type = read_text(document, "type");
  condition.status = read_word(document.required("status"),
                               {api::ConditionStatus::unknown, api::ConditionStatus::is_true,
                                api::ConditionStatus::is_false});
  condition.reason = read_text(document, "reason");
  condition.message = read_text(document, "message");
  document.required("lastTransition");
  condition.last_transition = read_time(document, "lastTransition").value_or(WallTime{});
  condition.observed_generation = read_count(document, "observedGeneration");
  document.no_other_fields();
  return condition;
}

}  // namespace

json::array to_json(const std::vector<api::Condition>& conditions) {
  json::array list;
  for (const api::Condition& condition : conditions) list.push_back(to_json(condition));
  return list;
}

std::vector<api::Condition> read_conditions(JsonReader& document) {
  std::vector<api::Condition> conditions;
  for (JsonReader& condition : document.required("conditions").elements(kConditionsMax)) {
    conditions.push_back(read_condition(condition));
  }
  return conditions;
}

api::Metadata read_metadata(JsonReader document) {
  api::Metadata metadata;
  metadata.owner = document.required("owner").text();
  metadata.name = document.required("name").text();
  metadata.uid = document.required("uid").text();
  document.required("generation");
  metadata.generation = read_count(document, "generation");
  if (std::optional<JsonReader> labels = document.optional("labels")) {
    for (auto& [key, value] : labels->members(kLabelsMax)) {
      metadata.labels.emplace(key, value.text(kTextMax, JsonReader::Empty::allowed));
    }
  }
  metadata.deletion_protection = read_flag(document, "deletionProtection");
  metadata.deletion_requested_at = read_time(document, "deletionRequestedAt");
  document.no_other_fields();
  return metadata;
}

}  // namespace isthmus::infra::record_json
