// All that `isthmus run` can be told, as one value.
#pragma once

#include <string>

#include "isthmus/app/flags.h"
#include "isthmus/app/run_flags.h"
#include "isthmus/base/mistakes.h"

namespace isthmus::app {

struct RunOptions {
  GenericFlags generic;
  ElectionFlags election;
  SafetyFlags safety;
  MigrationFlags migration;
  NodeFlags node;
  LifecycleFlags lifecycle;
  ServiceFlags service;
  RouteFlags route;
  ServingFlags serving;
  AuthenticationFlags authentication;
  AuthorizationFlags authorization;
  LogFlags logs;
  CompatibilityFlags compatibility;
  RefusedFlags refused;
};

// The table that fills `options`, which outlives it.
FlagTable run_flags(RunOptions& options);

// The same flags for a command that looks at what a manager does (plan_options.h).
FlagTable run_flags(RunOptions& options, std::string usage, std::string description);

// The flags that are given and that a dry run does without, as "--a, --b"; empty: none is.
std::string without_effect_in_dry_run(const RunOptions& options);

// What no single flag can know: missing and contradictory values, each naming its flags.
void find_contradictions(const RunOptions& options, Mistakes& mistakes);

}  // namespace isthmus::app
