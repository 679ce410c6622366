#include "isthmus/app/run_config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

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

// What a flag takes in the file, for a value that is something else.
std::string_view what_takes(Flag::Composite composite) {
  switch (composite) {
    case Flag::Composite::none:
      return "takes a single value";
    case Flag::Composite::list:
      return "takes a list of single values";
    case Flag::Composite::map:
      return "takes a map of single values";
  }
  return {};
}

std::string_view what_is(YamlNode::Kind kind) {
  switch (kind) {
    case YamlNode::Kind::null:
      return "has none";
    case YamlNode::Kind::list:
      return "has a list";
    case YamlNode::Kind::map:
      return "has a map";
    case YamlNode::Kind::scalar:
    case YamlNode::Kind::refused:
      break;
  }
  return {};
}

// The items of a list, or the pairs of a map. nullopt: there is more in it than single values.
std::optional<std::string> joined(const YamlNode& node) {
  std::vector<std::string> parts;
  for (const YamlNode& item : node.items) {
    if (item.kind != YamlNode::Kind::scalar) return std::nullopt;
    parts.push_back(item.scalar);
  }
  for (const YamlNode::Member& member : node.members) {
    if (member.value.kind != YamlNode::Kind::scalar) return std::nullopt;
    parts.push_back(member.key + "=" + member.value.scalar);
  }
  return fmt::format("{}", fmt::join(parts, ","));
}

// The value as a command line would have it. invalid: the flag takes none of this kind.
Result<std::string> value_for(const Flag& flag, const YamlNode& node) {
  using Composite = Flag::Composite;
  if (node.kind == YamlNode::Kind::scalar) return node.scalar;
  const bool may_be_list = node.kind == YamlNode::Kind::list && flag.composite != Composite::none;
  const bool may_be_map = node.kind == YamlNode::Kind::map && flag.composite == Composite::map;
  if (!may_be_list && !may_be_map) {
    return fail(Outcome::invalid,
                fmt::format("{}, and {}", what_takes(flag.composite), what_is(node.kind)));
  }
  std::optional<std::string> text = joined(node);
  if (!text) return fail(Outcome::invalid, std::string(what_takes(flag.composite)));
  return *std::move(text);
}

std::vector<FlagValue> values_of(const FlagTable& table, const std::string& path,
                                 const YamlNode& document, Mistakes& mistakes) {
  std::vector<FlagValue> values;
  for (const YamlNode::Member& member : document.members) {
    if (member.value.kind == YamlNode::Kind::refused) continue;
    const std::string where = fmt::format("{}: line {}: {}", path, member.line, member.key);
    const Flag* flag = table.find(member.key);
    if (flag == nullptr) {
      mistakes.add(where, "there is no such flag");
    } else if (std::ranges::find(kLineOnly, member.key) != kLineOnly.end()) {
      mistakes.add(where, "can only be given on the command line");
    } else if (Result<std::string> value = value_for(*flag, member.value)) {
      values.push_back({member.key, *std::move(value), where});
    } else {
      mistakes.add(where, value.error().message);
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
  table.take(values_of(table, path, *document, parsed.mistakes), parsed);
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
