#include "isthmus/app/run_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "isthmus/infra/yaml_reader.h"

namespace isthmus::app {
namespace {

using infra::YamlNode;

// Every flag with a long value has 10 KB.
constexpr std::size_t kConfigBytesMax = std::size_t{1} << 20;

// What a file cannot say: where it is itself, and what a person asks at a prompt.
constexpr std::array<std::string_view, 2> kLineOnly{"config", "version"};

// The value as a command line would have it: a list joined by commas, a map as KEY=VALUE pairs.
// nullopt: it is none of these.
std::optional<std::string> flat(const YamlNode& node) {
  if (node.kind == YamlNode::Kind::scalar) return node.scalar;
  std::string text;
  const auto append = [&text](const std::string& part) {
    text += (text.empty() ? "" : ",") + part;
  };
  if (node.kind == YamlNode::Kind::list) {
    for (const YamlNode& item : node.items) {
      if (item.kind != YamlNode::Kind::scalar) return std::nullopt;
      append(item.scalar);
    }
    return text;
  }
  if (node.kind == YamlNode::Kind::map) {
    for (const YamlNode::Member& member : node.members) {
      if (member.value.kind != YamlNode::Kind::scalar) return std::nullopt;
      append(member.key + "=" + member.value.scalar);
    }
    return text;
  }
  return std::nullopt;
}

std::vector<FlagValue> values_of(const std::string& path, const YamlNode& document,
                                 Mistakes& mistakes) {
  std::vector<FlagValue> values;
  for (const YamlNode::Member& member : document.members) {
    if (member.value.kind == YamlNode::Kind::refused) continue;
    const std::string where = fmt::format("{}: line {}: {}", path, member.line, member.key);
    const std::optional<std::string> value = flat(member.value);
    if (std::ranges::find(kLineOnly, member.key) != kLineOnly.end()) {
      mistakes.add(where, "can only be given on the command line");
    } else if (!value) {
      mistakes.add(where, "has no value that a flag could have");
    } else {
      values.push_back({member.key, *value, where});
    }
  }
  return values;
}

void take_file(Files& files, const FlagTable& table, const std::string& path, ParsedFlags& parsed) {
  const Result<std::string> text = files.read(path, kConfigBytesMax);
  if (!text) {
    parsed.mistakes.add("--config", text.error().message);
    return;
  }
  infra::YamlMistakes wrong;
  const std::optional<YamlNode> document = infra::parse_yaml(*text, wrong);
  wrong.add_to(parsed.mistakes, path);
  if (!document || document->kind == YamlNode::Kind::null) return;
  if (document->kind != YamlNode::Kind::map) {
    parsed.mistakes.add(path, "is no map of flags and their values");
    return;
  }
  table.take(values_of(path, *document, parsed.mistakes), parsed);
}

}  // namespace

ParsedFlags read_run_options(Files& files, const FlagTable& table,
                             const std::vector<std::string>& arguments, RunOptions& options) {
  ParsedFlags parsed = table.parse(arguments);
  if (parsed.help || options.generic.config.empty()) return parsed;
  const std::string path = options.generic.config;
  options = RunOptions{};
  ParsedFlags both;
  take_file(files, table, path, both);
  return table.parse(arguments, std::move(both));
}

}  // namespace isthmus::app
