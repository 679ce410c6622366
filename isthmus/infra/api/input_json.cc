#include "isthmus/infra/api/input_json.h"

#include <fmt/format.h>

#include <utility>

#include "isthmus/base/json_keys.h"
#include "isthmus/infra/api/rules.h"

namespace isthmus::infra::api {
namespace {

constexpr std::size_t kTextMax = 4096;

// Longer than any address or prefix is.
constexpr std::size_t kIpTextMax = 128;

constexpr std::string_view kBehindPlace = ": ";

// How much of a mistake is the JSON pointer it begins with. A member may be called "a: b", so what
// is found in the document goes before what is merely the first; a required member is in neither.
std::size_t place_bytes(std::string_view mistake, const json::value& document) {
  if (!mistake.starts_with('/')) return 0;
  const std::size_t first = mistake.find(kBehindPlace);
  for (std::size_t end = first; end != mistake.npos; end = mistake.find(kBehindPlace, end + 1)) {
    json::error_code error;
    if (document.find_pointer(mistake.substr(0, end), error) != nullptr) return end;
  }
  return first == mistake.npos ? 0 : first;
}

}  // namespace

std::string ruled_text(JsonReader value, Rule wrong, JsonReader::Empty empty) {
  std::string text = value.text(kTextMax, empty);
  std::optional<std::string> mistake = text.empty() ? std::nullopt : wrong(text);
  if (mistake) value.refuse(*mistake);
  return text;
}

std::string optional_ruled_text(JsonReader& object, std::string_view key, Rule wrong,
                                JsonReader::Empty empty) {
  std::optional<JsonReader> member = object.optional(key);
  return member ? ruled_text(*member, wrong, empty) : "";
}

std::optional<IpAddress> reachable_ip(JsonReader value) {
  std::string text = value.text(kIpTextMax);
  if (text.empty()) return std::nullopt;
  if (auto mistake = wrong_reachable_ip(text)) {
    value.refuse(*mistake);
    return std::nullopt;
  }
  Result<IpAddress> address = parse_ip(text);
  if (address) return *address;
  value.refuse_expected("an IP address");
  return std::nullopt;
}

std::optional<IpPrefix> clean_prefix(JsonReader value) {
  std::string text = value.text(kIpTextMax);
  if (text.empty()) return std::nullopt;
  Result<IpPrefix> prefix = parse_prefix(text);
  if (prefix) return *prefix;
  value.refuse(prefix.error().message);
  return std::nullopt;
}

std::vector<JsonReader> at_least_one(JsonReader list, std::size_t count_max) {
  const json::array* array = list.value().if_array();
  if (array != nullptr && array->empty()) list.refuse("must not be empty");
  return list.elements(count_max);
}

std::map<std::string, std::string> input_labels(JsonReader& metadata) {
  std::map<std::string, std::string> said;
  std::optional<JsonReader> labels = metadata.optional("labels");
  if (!labels) return said;
  for (auto& [key, value] : labels->members(kLabelsMax)) {
    if (auto mistake = wrong_label_key(key)) value.refuse(*mistake);
    said[key] = ruled_text(value, wrong_label_value, JsonReader::Empty::allowed);
  }
  return said;
}

void must_be_of_path(JsonReader& metadata, std::string_view key, std::string_view of_path) {
  std::optional<JsonReader> given = metadata.optional(key);
  if (!given) return;
  std::string text = given->text();
  if (!text.empty() && text != of_path) {
    given->refuse(fmt::format("expected the {} of the path, {}", key, of_path));
  }
}

void pass_over(JsonReader& object, std::initializer_list<std::string_view> keys) {
  for (std::string_view key : keys) (void)object.optional(key);
}

void refuse_doubled_keys(std::string_view text, Mistakes& mistakes) {
  // Of two values only one could be obeyed, and nobody would learn which.
  for (const std::string& pointer : doubled_keys(text)) mistakes.add(pointer, "is given twice");
}

std::vector<FieldError> as_field_errors(const Mistakes& mistakes, const json::value& document) {
  std::vector<FieldError> errors;
  for (std::string_view mistake : mistakes.list()) {
    std::size_t where_bytes = place_bytes(mistake, document);
    std::string_view what =
        mistake.substr(where_bytes == 0 ? 0 : where_bytes + kBehindPlace.size());
    errors.push_back({std::string(mistake.substr(0, where_bytes)), std::string(what)});
  }
  if (mistakes.count() > errors.size()) {
    errors.push_back({"", fmt::format("and {} more", mistakes.count() - errors.size())});
  }
  return errors;
}

}  // namespace isthmus::infra::api
