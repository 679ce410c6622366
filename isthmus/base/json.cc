#include "isthmus/base/json.h"

#include <algorithm>
#include <ranges>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "isthmus/base/json_keys.h"
#include "isthmus/base/text.h"

namespace isthmus {
namespace {

// Enough to recognise a value by, short enough for an event or a log line.
constexpr std::size_t kFoundBytesMax = 48;

// Lines and columns count from 1; a column is a byte, as compilers count.
std::string place(std::string_view text, std::size_t at) {
  const std::string_view before = text.substr(0, at);
  const auto line = std::ranges::count(before, '\n') + 1;
  const std::size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0.
  return fmt::format("line {}, column {}", line, at - line_start + 1);
}

std::string found(const json::value& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return "an array";
  if (value.is_string()) {
    const json::string& text = value.get_string();
    return quoted(shortened({text.data(), text.size()}, kFoundBytesMax));
  }
  return json::serialize(value);
}

std::string_view view(const json::string& text) { return {text.data(), text.size()}; }

}  // namespace

Result<json::value> parse_json(std::string_view text, const JsonLimits& limits,
                               json::storage_ptr memory) {
  if (text.size() > limits.bytes_max) {
    return fail(Outcome::invalid, fmt::format("the document has {} bytes, {} are allowed",
                                              text.size(), limits.bytes_max));
  }
  json::parse_options options;
  options.max_depth = limits.depth_max;
  json::stream_parser parser({}, options);
  parser.reset(std::move(memory));
  json::error_code error;
  const std::size_t read = parser.write_some(text.data(), text.size(), error);
  if (!error) {
    const std::size_t behind = text.find_first_not_of(" \t\r\n", read);
    if (behind != std::string_view::npos) {
      return fail(Outcome::invalid, place(text, behind) + ": more after the end of the document");
    }
    parser.finish(error);
  }
  if (error == json::error::too_deep) {
    return fail(Outcome::invalid, fmt::format("{}: nested deeper than {} levels", place(text, read),
                                              limits.depth_max));
  }
  if (error) return fail(Outcome::invalid, place(text, read) + ": " + error.message());
  return parser.release();
}

std::string compact_json(const json::value& value) { return json::serialize(value); }

// Where a value lies, in one piece, because there is one for every value that is read; the pointer
// is put together only for a mistake.
struct JsonReader::Place {
  std::shared_ptr<const Place> parent;  // nullptr: the document.
  std::string key;
  std::vector<const json::value*> asked;  // The members that were asked for, of those there are.
  bool is_refused = false;                // For it is no object.
};

JsonReader::JsonReader(const json::value& document, Mistakes& mistakes)
    : JsonReader(&document, std::make_shared<Place>(), mistakes) {}

JsonReader::JsonReader(const json::value* value, SharedPlace place, Mistakes& mistakes)
    : value_(value), place_(std::move(place)), mistakes_(&mistakes) {}

std::string JsonReader::pointer() const {
  std::string pointer;
  for (const Place* place = place_.get(); place->parent != nullptr; place = place->parent.get()) {
    pointer.insert(0, "/" + pointer_part(place->key));
  }
  return pointer;
}

void JsonReader::note_asked(std::string_view key) {
  constexpr std::size_t kUsual = 8;
  const json::value* member = value_->get_object().if_contains(key);
  if (member == nullptr) return;
  if (place_->asked.empty()) place_->asked.reserve(kUsual);
  place_->asked.push_back(member);
}

JsonReader JsonReader::required(std::string_view key) {
  const json::object* members = object();
  const json::value* member = nullptr;
  if (members != nullptr) {
    note_asked(key);
    member = members->if_contains(key);
    if (member == nullptr)
      mistakes_->add(child(nullptr, std::string(key)).pointer(), "is required");
  }
  return child(member, std::string(key));
}

std::optional<JsonReader> JsonReader::optional(std::string_view key) {
  const json::object* members = object();
  if (members == nullptr) return std::nullopt;
  note_asked(key);
  const json::value* member = members->if_contains(key);
  if (member == nullptr || member->is_null()) return std::nullopt;
  return child(member, std::string(key));
}

void JsonReader::no_other_fields() {
  if (missing() || !value_->is_object()) return;
  for (const auto& [key, member] : value_->get_object()) {
    if (std::ranges::find(place_->asked, &member) != place_->asked.end()) continue;
    mistakes_->add(child(&member, key).pointer(), "unknown field");
  }
}

std::vector<JsonReader> JsonReader::elements(std::size_t count_max) {
  if (missing()) return {};
  if (!value_->is_array()) {
    refuse_expected("an array");
    return {};
  }
  const json::array& array = value_->get_array();
  if (array.size() > count_max) {
    refuse(fmt::format("has {} elements, {} are allowed", array.size(), count_max));
    return {};
  }
  std::vector<JsonReader> readers;
  readers.reserve(array.size());
  for (std::size_t i = 0; i < array.size(); ++i) {
    readers.push_back(child(&array[i], std::to_string(i)));
  }
  return readers;
}

std::vector<std::pair<std::string, JsonReader>> JsonReader::members(std::size_t count_max) {
  const json::object* members = object();
  if (members == nullptr) return {};
  if (members->size() > count_max) {
    refuse(fmt::format("has {} members, {} are allowed", members->size(), count_max));
    return {};
  }
  std::vector<std::pair<std::string, JsonReader>> readers;
  for (const auto& [key, member] : *members) {
    note_asked(key);
    readers.emplace_back(key, child(&member, key));
  }
  return readers;
}

std::string JsonReader::text(std::size_t bytes_max, Empty empty) {
  if (missing()) return {};
  if (!value_->is_string()) {
    refuse_expected("a string");
    return {};
  }
  const std::string_view text = view(value_->get_string());
  if (text.empty() && empty == Empty::refused) {
    refuse("must not be empty");
  } else if (text.size() > bytes_max) {
    refuse(fmt::format("has {} bytes, {} are allowed", text.size(), bytes_max));
    return {};
  }
  return std::string(text);
}

std::string JsonReader::choice(std::initializer_list<std::string_view> words) {
  if (missing()) return {};
  if (value_->is_string()) {
    const std::string_view text = view(value_->get_string());
    if (std::ranges::find(words, text) != words.end()) return std::string(text);
  }
  refuse_expected(fmt::format("one of {}", fmt::join(words | std::views::transform(quoted), ", ")));
  return {};
}

std::int64_t JsonReader::integer(std::int64_t low, std::int64_t high) {
  if (missing()) return 0;
  json::error_code error;
  // Also takes 5.0, which is the same number in JSON, but neither 5.5 nor "5".
  const auto number =
      value_->is_number() ? value_->to_number<std::int64_t>(error) : std::int64_t{0};
  if (value_->is_number() && !error && number >= low && number <= high) return number;
  refuse_expected(fmt::format("a whole number from {} to {}", low, high));
  return 0;
}

double JsonReader::number() {
  if (missing()) return 0;
  if (value_->is_number()) return value_->to_number<double>();
  refuse_expected("a number");
  return 0;
}

bool JsonReader::boolean() {
  if (missing()) return false;
  if (value_->is_bool()) return value_->get_bool();
  refuse_expected("true or false");
  return false;
}

Duration JsonReader::duration() {
  if (missing()) return {};
  if (value_->is_string()) {
    Result<Duration> parsed = parse_duration(view(value_->get_string()));
    if (parsed) return *parsed;
  }
  refuse_expected("a duration like \"1m30s\"");
  return {};
}

Secret JsonReader::secret(std::size_t bytes_max) {
  if (missing()) return {};
  if (!value_->is_string()) {
    refuse("expected a string");
    return {};
  }
  const std::string_view text = view(value_->get_string());
  if (text.empty()) refuse("must not be empty");
  if (text.size() > bytes_max) refuse(fmt::format("is longer than {} bytes", bytes_max));
  return text.size() > bytes_max ? Secret() : Secret(std::string(text));
}

void JsonReader::refuse(std::string_view what) { mistakes_->add(pointer(), what); }

void JsonReader::refuse_expected(std::string_view what) {
  refuse(fmt::format("expected {}, found {}", what, found(value())));
}

const json::value& JsonReader::value() const {
  static const json::value null;
  return missing() ? null : *value_;
}

const json::object* JsonReader::object() {
  if (missing()) return nullptr;
  if (value_->is_object()) return &value_->get_object();
  // Said once, however many members are asked for.
  if (!std::exchange(place_->is_refused, true)) refuse_expected("an object");
  return nullptr;
}

JsonReader JsonReader::child(const json::value* value, std::string key) const {
  auto place = std::make_shared<Place>(Place{place_, std::move(key), {}});
  return JsonReader(value, std::move(place), *mistakes_);
}

}  // namespace isthmus
