// What `isthmus explain` can be told: which object, the flags of the manager that it is about, and
// how to show the answer.
#pragma once

#include <string>
#include <vector>

#include "isthmus/app/flags.h"
#include "isthmus/app/run_options.h"
#include "isthmus/kube/api/meta.h"

namespace isthmus::app {

struct ExplainOptions {
  RunOptions run;
  std::string output = "table";
  std::string kind;  // "node" or "service".
  kube::ObjectKey name;
};

// The table that fills `options`, which outlives it.
FlagTable explain_flags(ExplainOptions& options);

// The words before the flags: takes them out of the arguments and into the options. Mistakes name
// the word.
void take_explain_words(std::vector<std::string>& arguments, ExplainOptions& options,
                        Mistakes& mistakes);

}  // namespace isthmus::app
