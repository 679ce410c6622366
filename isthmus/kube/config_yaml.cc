#include "isthmus/kube/config_impl.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace isthmus::kube {
namespace {

// As people count; yaml-cpp counts from 0 and says -1 for a node that stands nowhere.
int line_of(const YAML::Node& node) { return std::max(node.Mark().line + 1, 1); }

std::string where(std::string_view file, int line, std::string_view path) {
  return fmt::format("{}: line {}{}{}", file, line, path.empty() ? "" : ": ", path);
}

}  // namespace

std::optional<YamlField> YamlField::document(const std::string& file, const std::string& text,
                                             Mistakes& mistakes) {
  try {
    // LoadAll, because Load takes the first of several documents and forgets the others.
    std::vector<YAML::Node> documents = YAML::LoadAll(text);
    if (documents.size() == 1 && documents[0].IsMap()) {
      return YamlField(file, documents[0], "", mistakes);
    }
    mistakes.add(file, documents.size() > 1 ? "holds more than one YAML document"
                                            : "is not a kubeconfig: not a YAML map");
  } catch (const YAML::Exception& error) {
    mistakes.add(where(file, std::max(error.mark.line + 1, 1), ""), "not YAML: " + error.msg);
  }
  return std::nullopt;
}

std::optional<YamlField> YamlField::member(std::string_view key) const {
  if (!is_map()) return std::nullopt;
  std::optional<YamlField> found;
  for (const auto& each : node_) {
    if (!each.first.IsScalar() || each.first.Scalar() != key) continue;
    if (found) {
      add_mistake(line_of(each.first), path_of(key), "is given twice");
    } else if (!each.second.IsNull()) {
      found = YamlField(*file_, each.second, path_of(key), *mistakes_);
    }
  }
  return found;
}

std::optional<YamlField> YamlField::required_member(std::string_view key) const {
  std::optional<YamlField> found = member(key);
  if (!found) refuse(key, "is missing");
  return found;
}

std::string YamlField::text(std::string_view key) const {
  const std::optional<YamlField> field = member(key);
  if (!field) return {};
  if (field->node_.IsScalar()) return field->node_.Scalar();
  field->refuse("is not a text");
  return {};
}

std::vector<YamlField> YamlField::elements() const {
  std::vector<YamlField> fields;
  if (!node_.IsSequence()) {
    refuse("is not a list");
    return fields;
  }
  for (const auto& each : node_) {
    const std::string path = fmt::format("{}[{}]", path_, fields.size());
    fields.push_back(YamlField(*file_, each, path, *mistakes_));
  }
  return fields;
}

void YamlField::only_members(std::initializer_list<std::string_view> known) const {
  for (const auto& each : node_) {
    const std::string key = each.first.IsScalar() ? each.first.Scalar() : "?";
    if (std::ranges::find(known, key) == known.end()) {
      add_mistake(
          line_of(each.first), path_of(key),
          fmt::format("is no field that exists here; known are {}", fmt::join(known, ", ")));
    }
  }
}

void YamlField::refuse(std::string_view what) const { add_mistake(line_of(node_), path_, what); }

void YamlField::refuse(std::string_view key, std::string_view what) const {
  int line = line_of(node_);
  if (is_map()) {
    for (const auto& each : node_) {
      if (each.first.IsScalar() && each.first.Scalar() == key) line = line_of(each.first);
    }
  }
  add_mistake(line, path_of(key), what);
}

std::string YamlField::path_of(std::string_view key) const {
  return path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key);
}

void YamlField::add_mistake(int line, std::string_view path, std::string_view what) const {
  mistakes_->add(where(*file_, line, path), what);
}

}  // namespace isthmus::kube
