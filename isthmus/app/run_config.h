// The command line of `isthmus run` together with the file that its --config names: a YAML map with
// the same keys as the flags, for those who keep configuration in files.
//
//   cloud-provider: isthmus
//   controllers: ["*", "-node-route-controller"]     # or "*,-node-route-controller"
//   leader-elect-lease-duration: 30s
//   feature-gates: {ContextualLogging: true}
//
// A flag on the command line counts before the file's key. The file is judged whole even so: every
// unknown or doubled key, every wrong value and every list or map where the flag has no use for one
// is named by line and key, together with the command line's mistakes.
#pragma once

#include <string>
#include <vector>

#include "isthmus/app/flags.h"
#include "isthmus/app/run_options.h"
#include "isthmus/base/files.h"

namespace isthmus::app {

// Fills the options, which the table is of (run_flags). With --help, only parses.
ParsedFlags read_run_options(Files& files, const FlagTable& table,
                             const std::vector<std::string>& arguments, RunOptions& options);

}  // namespace isthmus::app
