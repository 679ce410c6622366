// A kubeconfig's YAML, read so that every mistake is named by line and field; private to config.
#pragma once

#include <yaml-cpp/yaml.h>

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "isthmus/base/mistakes.h"
#include "isthmus/base/result.h"

namespace isthmus::kube {

// A value of the document and where it stands. Every function answers something empty after it has
// reported a mistake, so that reading goes on to the next. None of them throws, on any document.
class YamlField {
 public:
  // A document. nullopt after the mistake was added: not YAML, or not a map.
  static std::optional<YamlField> document(const std::string& file, const std::string& text,
                                           Mistakes& mistakes);

  // A member of a map; nullopt when it is missing or null. Of a key that is given twice, the first,
  // and a mistake.
  std::optional<YamlField> member(std::string_view key) const;

  // The same, and a mistake when it is missing.
  std::optional<YamlField> required_member(std::string_view key) const;

  // The text of a member; empty when it is missing, null or, with a mistake, not a scalar.
  std::string text(std::string_view key) const;

  // The elements of a list. Empty, with a mistake, when this is none.
  std::vector<YamlField> elements() const;

  // A mistake for each member that is not among these.
  void only_members(std::initializer_list<std::string_view> known) const;

  // A mistake about this value, or about a member of it (whether it is there or not).
  void refuse(std::string_view what) const;
  void refuse(std::string_view key, std::string_view what) const;

  bool is_map() const { return node_.IsMap(); }
  const std::string& path() const { return path_; }

 private:
  YamlField(const std::string& file, YAML::Node node, std::string path, Mistakes& mistakes)
      : file_(&file), node_(std::move(node)), path_(std::move(path)), mistakes_(&mistakes) {}
  std::string path_of(std::string_view key) const;
  void add_mistake(int line, std::string_view path, std::string_view what) const;

  const std::string* file_;
  YAML::Node node_;
  std::string path_;  // "clusters[0].cluster"; empty for the document.
  Mistakes* mistakes_;
};

}  // namespace isthmus::kube
