#include "isthmus/app/plan_options.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "isthmus/app/look_options.h"
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
  add_output_flags(table, options.output);
  table.boolean("detailed-exitcode", options.detailed_exit_code, std::string(kWhatToShow),
                "Exit with 2 when something is to be done.");
  return table;
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
  const auto name = read_object_name(options.kind, words[1], mistakes);
  if (name) options.name = *name;
}

}  // namespace isthmus::app
