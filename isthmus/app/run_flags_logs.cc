#include "isthmus/app/run_flags_impl.h"

#include <algorithm>

#include "isthmus/base/text.h"

namespace isthmus::app {
namespace {

// "PATTERN=N,…", as klog reads it.
bool is_vmodule(std::string_view text) {
  if (trimmed(text).empty()) return true;
  return std::ranges::all_of(split(text, ','), [](std::string_view part) {
    const std::size_t equals = part.rfind('=');
    if (equals == std::string_view::npos || equals == 0) return false;
    const std::string_view level = part.substr(equals + 1);
    return !level.empty() && level.find_first_not_of("0123456789") == std::string_view::npos;
  });
}

void add_version_flag(FlagTable& table, const std::string& group, std::string& version) {
  table.add({.name = "version",
             .is_switch = true,
             .default_text = "false",
             .group = group,
             .help = "Print the version and exit; --version=raw prints all that is known.",
             .set = [&version](std::string_view value) -> Result<> {
               if (value != "true" && value != "false" && value != "raw") {
                 return fail(Outcome::invalid, "is not one of true, false, raw");
               }
               version = value;
               return {};
             }});
}

// klog's buffers and streams.
void add_held_back(FlagTable& table, const std::string& group, LogFlags& flags) {
  const std::size_t before = table.flags().size();
  table.duration("log-flush-frequency", flags.flush_frequency, group,
                 "No effect: logs are never held back.");
  table.text("vmodule", flags.vmodule, group, "No effect: -v is the same for all files.")
      .composite = Flag::Composite::map;
  const std::string no_streams =
      "No effect: all lines go to standard error. Needs the feature gate LoggingAlphaOptions.";
  table.boolean("log-text-split-stream", flags.text_split_stream, group, no_streams);
  table.boolean("log-json-split-stream", flags.json_split_stream, group, no_streams);
  const std::string no_buffer =
      "No effect: logs are never held back. Needs the feature gate LoggingAlphaOptions.";
  table.text("log-text-info-buffer-size", flags.text_info_buffer_size, group, no_buffer);
  table.text("log-json-info-buffer-size", flags.json_info_buffer_size, group, no_buffer);
  table.mark_without_effect(before);
}

}  // namespace

void add_log_flags(FlagTable& table, LogFlags& flags) {
  add_logging_flags(table, flags.format, flags.verbosity);
  const std::string group = "Logs and misc flags";
  add_version_flag(table, group, flags.version);
  add_held_back(table, group, flags);
}

void check_log_flags(const LogFlags& flags, const FeatureGates& gates, Mistakes& mistakes) {
  if (!is_vmodule(flags.vmodule)) {
    mistakes.add("--vmodule", quoted(flags.vmodule) + " is not PATTERN=NUMBER, comma-separated");
  }
  if (gates.enabled(kLoggingAlphaGate)) return;
  const auto needs_gate = [&mistakes](std::string_view flag, bool is_asked) {
    if (is_asked) mistakes.add(flag, "needs --feature-gates=LoggingAlphaOptions=true");
  };
  needs_gate("--log-text-split-stream", flags.text_split_stream);
  needs_gate("--log-json-split-stream", flags.json_split_stream);
  needs_gate("--log-text-info-buffer-size", flags.text_info_buffer_size != "0");
  needs_gate("--log-json-info-buffer-size", flags.json_info_buffer_size != "0");
}

}  // namespace isthmus::app
