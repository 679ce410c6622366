#include "isthmus/infra/api/watch_event.h"

#include <array>
#include <utility>

#include "isthmus/base/json.h"
#include "isthmus/infra/api/instance_json.h"

namespace isthmus::infra::api {
namespace {

constexpr std::array<std::pair<WatchEvent::Type, std::string_view>, 4> kTypes = {{
    {WatchEvent::Type::changed, "changed"},
    {WatchEvent::Type::removed, "removed"},
    {WatchEvent::Type::bookmark, "bookmark"},
    {WatchEvent::Type::problem, "problem"},
}};

WatchEvent::Type type_of(std::string_view word) {
  for (const auto& [type, known] : kTypes) {
    if (known == word) return type;
  }
  return WatchEvent::Type::other;
}

bool is_instance(JsonReader object) {
  auto* members = object.value().if_object();
  auto* kind = members != nullptr ? members->if_contains("kind") : nullptr;
  return kind == nullptr || *kind == json::value("Instance");
}

}  // namespace

std::string_view to_string(WatchEvent::Type type) {
  for (const auto& [known, word] : kTypes) {
    if (known == type) return word;
  }
  return "other";
}

std::string encode(const WatchEvent& event) {
  json::object document{{"type", to_string(event.type)}, {"revision", event.revision}};
  if (event.instance) document["object"] = to_json(*event.instance);
  std::string text = compact_json(document);
  // A problem has an encoding of its own; it becomes the last member.
  if (event.problem) {
    text.pop_back();
    text += ",\"problem\":" + encode(*event.problem) + "}";
  }
  return text;
}

Result<WatchEvent> decode_watch_event(std::string_view line) {
  Result<json::value> document = parse_json(line);
  if (!document) return fail(Outcome::lost, "not a WatchEvent: " + document.error().message);
  Mistakes mistakes;
  JsonReader reader(*document, mistakes);
  WatchEvent event;
  event.type = type_of(reader.required("type").text());
  constexpr std::int64_t kRevisionMax = (std::int64_t{1} << 53) - 1;
  event.revision = static_cast<std::uint64_t>(reader.required("revision").integer(0, kRevisionMax));
  if (event.type == WatchEvent::Type::changed || event.type == WatchEvent::Type::removed) {
    JsonReader object = reader.required("object");
    if (is_instance(object)) {
      event.instance = read_instance(object);
    } else {
      event.type = WatchEvent::Type::other;
    }
  }
  if (event.type == WatchEvent::Type::problem) {
    JsonReader object = reader.required("problem");
    std::int64_t status = object.required("status").integer(400, 599);
    if (mistakes.empty()) {
      event.problem = TRY(decode_problem(compact_json(object.value()), static_cast<int>(status)));
    }
  }
  if (!mistakes.empty()) return fail(Outcome::lost, "not a WatchEvent: " + mistakes.text());
  return event;
}

}  // namespace isthmus::infra::api
