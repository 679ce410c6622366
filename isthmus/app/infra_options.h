// What `isthmus infra` can be told on the command line; everything else is in its configuration
// file (infra/config.h).
#pragma once

#include <cstdint>
#include <string>

#include "isthmus/app/flags.h"
#include "isthmus/base/files.h"
#include "isthmus/base/mistakes.h"
#include "isthmus/infra/config.h"

namespace isthmus::app {

struct InfraOptions {
  std::string config;     // Path of the configuration file.
  std::string directory;  // Instead of one: embedded defaults, with everything in this folder.
  std::string logging_format = "text";
  std::int64_t verbosity = 0;
};

// The table that fills `options`, which outlives it.
FlagTable infra_flags(InfraOptions& options);

// The configuration that the options name. Every mistake of the file is added, and of the choice
// between file and folder; with a mistake, nothing of the answer may be used.
infra::Config load_infra_config(Files& files, const InfraOptions& options, Mistakes& mistakes);

}  // namespace isthmus::app
