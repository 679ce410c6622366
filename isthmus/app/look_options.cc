#include "isthmus/app/look_options.h"

#include <algorithm>
#include <cstdio>
#include <iterator>

#include <fmt/format.h>

#include "isthmus/base/text.h"

namespace isthmus::app {

void add_output_flags(FlagTable& table, std::string& output) {
  const std::string group(kWhatToShow);
  table.choice("output", output, {"table", "json"}, group, "For people or for programs.");
  table.choice("o", output, {"table", "json"}, group, "The same as --output.");
}

std::vector<std::string> take_words(std::vector<std::string>& arguments) {
  const auto end = std::ranges::find_if(
      arguments, [](const std::string& argument) { return argument.starts_with('-'); });
  std::vector<std::string> words(std::make_move_iterator(arguments.begin()),
                                 std::make_move_iterator(end));
  arguments.erase(arguments.begin(), end);
  return words;
}

std::optional<kube::ObjectKey> read_object_name(std::string_view kind, const std::string& word,
                                                Mistakes& mistakes) {
  const Result<kube::ObjectKey> name = kube::parse_object_key(word);
  const bool has_space = name && !name->name_space.empty();
  if (name && has_space == (kind == "service")) return *name;
  mistakes.add(quoted(word), kind == "service" ? "a Service is named NAMESPACE/NAME"
                                               : "a Node is named without a namespace");
  return std::nullopt;
}

bool tell_mistakes(std::string_view command, const Mistakes& words, const Mistakes& flags) {
  if (words.empty() && flags.empty()) return false;
  const std::string_view between = words.empty() || flags.empty() ? "" : "\n";
  fmt::print(stderr, "isthmus {}:\n{}{}{}\n", command, words.text(), between, flags.text());
  return true;
}

}  // namespace isthmus::app
