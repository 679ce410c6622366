#include "isthmus/app/infra_options.h"

namespace isthmus::app {

FlagTable infra_flags(InfraOptions& options) {
  FlagTable table("isthmus infra (--config FILE | --directory FOLDER) [flags]",
                  "Runs the infrastructure backend: an inventory of machines behind one API.");
  const std::string group = "Flags";
  table.text("config", options.config, group, "Path of the configuration file.");
  table.text("directory", options.directory, group,
             "A folder to use with embedded defaults instead of a configuration file: socket "
             "infra.sock, store infra.db, inventory inventory.yaml.");
  add_logging_flags(table, options.logging_format, options.verbosity);
  return table;
}

infra::Config load_infra_config(Files& files, const InfraOptions& options, Mistakes& mistakes) {
  if (options.config.empty() == options.directory.empty()) {
    mistakes.add("--config and --directory", "give exactly one of them");
    return {};
  }
  if (options.config.empty()) return infra::default_config(options.directory);
  Result<std::string> text = files.read(options.config, infra::kConfigBytesMax);
  if (!text) {
    mistakes.add("--config", text.error().message);
    return {};
  }
  return infra::parse_config(*text, options.config, mistakes);
}

}  // namespace isthmus::app
