#include "isthmus/kube/apply_patch.h"

#include <algorithm>
#include <exception>
#include <string>

namespace isthmus::kube {
namespace {

void merge(json::value& target, const json::value& patch) {
  if (!patch.is_object()) {
    target = patch;
    return;
  }
  if (!target.is_object()) target = json::object();
  json::object& object = target.as_object();
  for (const auto& [key, value] : patch.as_object()) {
    if (value.is_null()) {
      object.erase(key);
    } else {
      merge(object[key], value);
    }
  }
}

// The lists that Kubernetes merges, and by what; an empty key is a set of plain values. All other
// lists are atomic (spec.taints among them).
struct MergedList {
  std::string_view name, key;
};
constexpr MergedList kMergedLists[] = {
    {"addresses", "type"}, {"conditions", "type"}, {"finalizers", ""}, {"ports", "port"}};

const MergedList* merged_list(std::string_view name) {
  const auto* found = std::ranges::find(kMergedLists, name, &MergedList::name);
  return found == std::end(kMergedLists) ? nullptr : found;
}

void strategic_merge(json::object& target, const json::object& patch);

bool asks_to_replace(const json::value& element) {
  return element.is_object() && element.as_object().contains("$patch") &&
         element.at("$patch") == "replace";
}

void merge_list(json::array& target, const json::array& patch, std::string_view key) {
  if (std::ranges::any_of(patch, asks_to_replace)) target.clear();
  for (const json::value& element : patch) {
    if (asks_to_replace(element)) continue;
    const auto found = std::ranges::find_if(target, [&](const json::value& other) {
      return key.empty() ? other == element : other.at(key) == element.at(key);
    });
    if (found == target.end()) {
      target.push_back(element);
    } else if (element.is_object()) {
      strategic_merge(found->as_object(), element.as_object());
    }
  }
}

void strategic_merge(json::object& target, const json::object& patch) {
  constexpr std::string_view kDelete = "$deleteFromPrimitiveList/";
  for (const auto& [name, value] : patch) {
    const std::string_view key = name;
    if (key.starts_with(kDelete)) {
      json::value* list = target.if_contains(key.substr(kDelete.size()));
      if (list == nullptr) continue;
      for (const json::value& gone : value.as_array()) {
        json::array& array = list->as_array();
        array.erase(std::remove(array.begin(), array.end(), gone), array.end());
      }
    } else if (key.starts_with("$")) {
      continue;  // $setElementOrder and the like: no effect on what we check.
    } else if (value.is_null()) {
      target.erase(key);
    } else if (value.is_object()) {
      json::value& inner = target[key];
      if (!inner.is_object()) inner = json::object();
      strategic_merge(inner.as_object(), value.as_object());
    } else if (const MergedList* list = merged_list(key); list != nullptr && value.is_array()) {
      json::value& inner = target[key];
      if (!inner.is_array()) inner = json::array();
      merge_list(inner.as_array(), value.as_array(), list->key);
    } else {
      target[key] = value;
    }
  }
}

// A reference token of a JSON pointer as the name it stands for (RFC 6901 section 4).
std::string unescaped(std::string_view token) {
  std::string name;
  for (std::size_t i = 0; i < token.size(); ++i) {
    const bool escaped = token[i] == '~' && i + 1 < token.size();
    name += !escaped ? token[i] : token[++i] == '1' ? '/' : '~';
  }
  return name;
}

Result<> apply_operation(json::value& document, const json::object& operation) {
  const std::string op(operation.at("op").as_string());
  const std::string path(operation.at("path").as_string());
  boost::system::error_code none;
  const json::value* there = document.find_pointer(path, none);
  if (op == "test") {
    if (there != nullptr && *there == operation.at("value")) return {};
    return fail(Outcome::invalid, "testing path " + path + " value failed");
  }
  if (op != "add" && there == nullptr) return fail(Outcome::invalid, op + ": no path " + path);
  const std::size_t slash = path.rfind('/');
  const std::string last = unescaped(path.substr(slash + 1));
  json::value* parent = document.find_pointer(path.substr(0, slash), none);
  if (parent == nullptr) return fail(Outcome::invalid, op + ": no path " + path);
  if (json::array* array = parent->if_array()) {
    const std::size_t index = last == "-" ? array->size() : std::stoul(last);
    if (op == "remove") {
      array->erase(array->begin() + index);
    } else if (op == "add") {
      array->insert(array->begin() + index, operation.at("value"));
    } else {
      array->at(index) = operation.at("value");
    }
  } else if (op == "remove") {
    parent->as_object().erase(last);
  } else {
    parent->as_object()[last] = operation.at("value");
  }
  return {};
}

Result<json::object> applied(json::object object, PatchType type, const json::value& patch) {
  if (type == PatchType::json) {
    json::value document = std::move(object);
    for (const json::value& operation : patch.as_array()) {
      TRY(apply_operation(document, operation.as_object()));
    }
    return std::move(document.as_object());
  }
  if (!patch.is_object()) return fail(Outcome::invalid, "a merge patch is an object");
  if (type == PatchType::whole) return patch.as_object();
  if (type == PatchType::strategic_merge) {
    strategic_merge(object, patch.as_object());
    return object;
  }
  json::value document = std::move(object);
  merge(document, patch);
  return std::move(document.as_object());
}

}  // namespace

// What is missing or of another kind in a patch shows when it is used; one place answers for all.
Result<json::object> apply_patch(json::object object, PatchType type, std::string_view body) {
  const json::value patch = TRY(parse_json(body));
  try {
    return applied(std::move(object), type, patch);
  } catch (const std::exception& wrong) {
    return fail(Outcome::invalid, std::string("no such patch: ") + wrong.what());
  }
}

}  // namespace isthmus::kube
