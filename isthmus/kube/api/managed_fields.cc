#include "isthmus/kube/api/managed_fields.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "isthmus/base/json.h"

namespace isthmus::kube {
namespace {

const json::value* member(const json::value& value, std::string_view name) {
  const json::object* object = value.if_object();
  return object == nullptr ? nullptr : object->if_contains(name);
}

std::string text(const json::value& entry, std::string_view name) {
  const json::value* found = member(entry, name);
  return found != nullptr && found->is_string() ? std::string(found->as_string()) : std::string();
}

// fieldsV1 is a tree of {"f:name": …}; an empty object is a leaf, owned with all that is in it.
bool has_field(const json::value& tree, const FieldPath& path) {
  const json::value* place = &tree;
  for (const std::string& name : path) {
    const json::object* object = place->if_object();
    if (object == nullptr) return false;
    if (object->empty() && place != &tree) return true;
    place = object->if_contains("f:" + name);
    if (place == nullptr) place = object->if_contains(R"(k:{"type":")" + name + R"("})");
    if (place == nullptr) return false;
  }
  return true;
}

}  // namespace

std::string to_string(const FieldPath& path) {
  std::string text;
  for (const std::string& name : path) {
    const bool is_key = name.find_first_of("./") != name.npos;
    if (is_key) {
      text += "[" + name + "]";
    } else {
      text += (text.empty() ? "" : ".") + name;
    }
  }
  return text;
}

Result<std::vector<FieldWriter>> writers_of(std::string_view document, const FieldPath& path) {
  const Result<json::value> object = parse_json(document);
  if (!object || !object->is_object()) return fail(Outcome::lost, "not a JSON object");
  std::vector<FieldWriter> writers;
  const json::value* meta = member(*object, "metadata");
  const json::value* entries = meta != nullptr ? member(*meta, "managedFields") : nullptr;
  if (entries == nullptr || !entries->is_array()) return writers;
  for (const json::value& entry : entries->as_array()) {
    const json::value* fields = member(entry, "fieldsV1");
    if (fields == nullptr || !has_field(*fields, path)) continue;
    writers.push_back({.manager = text(entry, "manager"),
                       .operation = text(entry, "operation"),
                       .subresource = text(entry, "subresource"),
                       .time = text(entry, "time")});
  }
  // The server writes all of them in UTC and in whole seconds, so that they compare as texts.
  std::ranges::sort(writers, [](const FieldWriter& left, const FieldWriter& right) {
    return std::tie(right.time, left.manager) < std::tie(left.time, right.manager);
  });
  return writers;
}

}  // namespace isthmus::kube
