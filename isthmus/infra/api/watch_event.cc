#include "isthmus/infra/api/watch_event.h"

#include "isthmus/base/json.h"
#include "isthmus/infra/api/instance_json.h"
#include "isthmus/infra/api/load_balancer_json.h"
#include "isthmus/infra/api/object_json.h"
#include "isthmus/infra/api/pool_json.h"
#include "isthmus/infra/api/route_table_json.h"
#include "isthmus/infra/api/target_set_json.h"
#include "isthmus/infra/api/words.h"

namespace isthmus::infra::api {
namespace {

using Type = WatchEvent::Type;

constexpr Words<Type, 4> kTypes = {{
    {Type::changed, "changed"},
    {Type::removed, "removed"},
    {Type::bookmark, "bookmark"},
    {Type::problem, "problem"},
}};

// An object without a kind is a machine: one that is broken, which its reader says.
std::string_view kind_of(const JsonReader& object) {
  auto* members = object.value().if_object();
  auto* kind = members != nullptr ? members->if_contains("kind") : nullptr;
  if (kind == nullptr) return "Instance";
  return kind->is_string() ? std::string_view(kind->get_string()) : "";
}

// False for a kind we do not know.
bool read_object(const JsonReader& object, WatchEvent& event) {
  std::string_view kind = kind_of(object);
  if (kind == "Instance") {
    event.instance = read_instance(object);
  } else if (kind == "LoadBalancer") {
    event.load_balancer = read_load_balancer(object);
  } else if (kind == "TargetSet") {
    event.target_set = read_target_set(object);
  } else if (kind == "RouteTable") {
    event.route_table = read_route_table(object);
  } else if (kind == "Pool") {
    event.pool = read_pool(object);
  } else if (kind == "Address") {
    event.address = read_allocated_address(object);
  } else {
    return false;
  }
  return true;
}

}  // namespace

std::string_view to_string(WatchEvent::Type type) {
  std::string_view word = word_of(kTypes, type);
  return word.empty() ? "other" : word;
}

std::string encode(const WatchEvent& event) {
  json::object document{{"type", to_string(event.type)}, {"revision", event.revision}};
  auto carry = [&](const auto& object) {
    if (object) document["object"] = to_json(*object);
  };
  carry(event.instance);
  carry(event.load_balancer);
  carry(event.target_set);
  carry(event.route_table);
  carry(event.pool);
  carry(event.address);
  std::string text = compact_json(document);
  // A problem has an encoding of its own; it becomes the last member.
  if (event.problem) {
    text.pop_back();
    text += ",\"problem\":" + encode(*event.problem) + "}";
  }
  return text;
}

Result<WatchEvent> decode_watch_event(std::string_view line) {
  json::monotonic_resource memory;
  Result<json::value> document = parse_json(line, kAnswerLimits, &memory);
  if (!document) return fail(Outcome::lost, "not a WatchEvent: " + document.error().message);
  Mistakes mistakes;
  JsonReader reader(*document, mistakes);
  WatchEvent event;
  event.type = value_of(kTypes, reader.required("type").text()).value_or(Type::other);
  event.revision = read_count(reader.required("revision"));
  if (event.type == Type::changed || event.type == Type::removed) {
    if (!read_object(reader.required("object"), event)) event.type = Type::other;
  }
  if (event.type == Type::problem) {
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
