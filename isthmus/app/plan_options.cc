#include "isthmus/app/plan_options.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>

#include <fmt/format.h>

#include "isthmus/base/text.h"

namespace isthmus::app {
namespace {

constexpr std::array<std::string_view, 3> kKinds{"node", "service", "route"};

// People also write "services" and "nodes".
std::string singular(const std::string& word) {
  const bool is_plural = word.ends_with('s') && word.size() > 1;
  return is_plural ? word.substr(0, word.size() - 1) : word;
}

}  // namespace

FlagTable plan_flags(PlanOptions& options) {
  FlagTable table = run_flags(
      options.run, "isthmus plan [node|service|route] [NAME] [flags]",
      "Shows what a manager with these flags would do now and why, object by object, and does "
      "nothing.\nThe flags are those of isthmus run; a Service is named NAMESPACE/NAME.\n"
      "Exit code 0: shown. 1: bad flags, or not everything could be asked.\nWith "
      "--detailed-exitcode, 2: something is to be done.");
  const std::string what = "What to show";
  table.choice("output", options.output, {"table", "json"}, what, "For people or for programs.");
  table.choice("o", options.output, {"table", "json"}, what, "The same as --output.");
  table.boolean("detailed-exitcode", options.detailed_exit_code, what,
                "Exit with 2 when something is to be done.");
  return table;
}

std::vector<std::string> take_words(std::vector<std::string>& arguments) {
  const auto end = std::ranges::find_if(
      arguments, [](const std::string& argument) { return argument.starts_with('-'); });
  std::vector<std::string> words(std::make_move_iterator(arguments.begin()),
                                 std::make_move_iterator(end));
  arguments.erase(arguments.begin(), end);
  return words;
}

void take_plan_words(std::vector<std::string>& arguments, PlanOptions& options,
                     Mistakes& mistakes) {
  const std::vector<std::string> words = take_words(arguments);
  if (words.empty()) return;
  options.kind = singular(words[0]);
  if (std::ranges::find(kKinds, options.kind) == kKinds.end()) {
    mistakes.add(quoted(words[0]), "is not one of node, service, route");
    return;
  }
  if (words.size() == 1) return;
  if (words.size() > 2) mistakes.add(quoted(words[2]), "one name at most");
  if (options.kind == "route") {
    options.name = {.name = words[1]};  // A destination has a slash of its own.
    return;
  }
  const Result<kube::ObjectKey> name = kube::parse_object_key(words[1]);
  const bool has_space = name && !name->name_space.empty();
  if (!name || has_space != (options.kind == "service")) {
    mistakes.add(quoted(words[1]), options.kind == "service"
                                       ? "a Service is named NAMESPACE/NAME"
                                       : "a Node is named without a namespace");
    return;
  }
  options.name = *name;
}

}  // namespace isthmus::app
