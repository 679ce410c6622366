// What `isthmus plan` can be told: the flags of `isthmus run`, so that a manager's own command line
// says what that manager would do, and what to show.
#pragma once

#include <string>
#include <vector>

#include "isthmus/app/flags.h"
#include "isthmus/app/run_options.h"
#include "isthmus/kube/api/meta.h"

namespace isthmus::app {

struct PlanOptions {
  RunOptions run;
  std::string output = "table";
  bool detailed_exit_code = false;

  // Of what: "node", "service", "route", or empty: of everything.
  std::string kind;
  kube::ObjectKey name;  // Empty: of all of that kind.
};

// The table that fills `options`, which outlives it.
FlagTable plan_flags(PlanOptions& options);

// The words before the flags, which the table does not know: takes them out of the arguments and
// into the options. Mistakes name the word.
void take_plan_words(std::vector<std::string>& arguments, PlanOptions& options, Mistakes& mistakes);

}  // namespace isthmus::app
