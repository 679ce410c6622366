#include "isthmus/app/explain_options.h"

#include "isthmus/app/look_options.h"
#include "isthmus/base/text.h"

namespace isthmus::app {

FlagTable explain_flags(ExplainOptions& options) {
  FlagTable table = run_flags(
      options.run, "isthmus explain service NAMESPACE/NAME | node NAME [flags]",
      "Walks from a Service or a Node to packets, link by link, and stops at the first one that is "
      "broken,\nwith the next step. It only reads; what may not be read is said to be unknown, "
      "with the right it takes.\nThe flags are those of the manager (isthmus run); without "
      "--cloud-config nothing is asked of the cloud.\n"
      "Exit code 0: nothing is broken. 1: bad flags, or no answer at all. 3: a link is broken.");
  add_output_flags(table, options.output);
  return table;
}

void take_explain_words(std::vector<std::string>& arguments, ExplainOptions& options,
                        Mistakes& mistakes) {
  // --help needs no object.
  if (!arguments.empty() && arguments[0].starts_with('-')) {
    mistakes.add("explain", "name a Service or a Node: explain service NAMESPACE/NAME");
    return;
  }
  const std::vector<std::string> words = take_words(arguments);
  if (words.size() != 2) {
    mistakes.add("explain", "name one Service or Node: explain service NAMESPACE/NAME");
    return;
  }
  options.kind = words[0];
  if (options.kind != "service" && options.kind != "node") {
    mistakes.add(quoted(words[0]), "is not one of service, node");
    return;
  }
  const auto name = read_object_name(options.kind, words[1], mistakes);
  if (name) options.name = *name;
}

}  // namespace isthmus::app
