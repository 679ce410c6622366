#include <fmt/format.h>

#include <cstdio>

#include "isthmus/app/commands.h"
#include "isthmus/app/flags.h"
#include "isthmus/app/lifecycle.h"
#include "isthmus/app/version.h"

namespace isthmus::app {

int version_command(const std::vector<std::string>& arguments, const Environment&) {
  bool raw = false;
  FlagTable table("isthmus version [flags]", "Prints which Isthmus this is.");
  table.boolean("raw", raw, "Flags", "Also print the compiler and the platform.");
  const ParsedFlags parsed = table.parse(arguments);
  if (parsed.help) {
    fmt::print("{}", table.help());
    return kExitDone;
  }
  if (!parsed.mistakes.empty()) {
    fmt::print(stderr, "isthmus version:\n{}\n", parsed.mistakes.text());
    return kExitMistaken;
  }
  fmt::print("{}", version_text(raw));
  return kExitDone;
}

}  // namespace isthmus::app
