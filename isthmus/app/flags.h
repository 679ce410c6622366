// Command-line flags as a table: every flag of a subcommand with its default, its help and the rule
// its value must keep. All mistakes of one command line are reported together and nothing starts.
//
// The forms accepted are those of pflag, which every Kubernetes manifest is written for:
// `--name=value`, `--name value`, `-v=4`, `-v 4`, `-v4`, a switch alone meaning true (and never
// taking the next word), and a repeated flag whose last value wins. The splitting is our own,
// because no library of Debian's has this grammar (docs/decisions/0002).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "isthmus/base/clock.h"
#include "isthmus/base/log.h"
#include "isthmus/base/mistakes.h"
#include "isthmus/base/result.h"

namespace isthmus::app {

struct Flag {
  std::string name;          // Without dashes; of one letter, it is also the short form.
  bool is_switch = false;    // May stand without a value, which then is "true".
  std::string default_text;  // As help shows it.
  std::string group;
  std::string help;

  // Takes over a value; invalid says what the value must be, without the flag's name.
  std::function<Result<>(std::string_view value)> set;
};

// What came of a command line.
struct ParsedFlags {
  Mistakes mistakes;               // Empty: all values were taken over.
  std::vector<std::string> given;  // Names of the flags that were set.
  bool help = false;               // -h or --help: print help(), exit 0.
};

// The longest period a flag may ask for: beyond anybody's wish, and short enough to be multiplied.
inline constexpr Duration kFlagDurationMax = std::chrono::hours(24 * 365 * 10);

// A resource; the targets it is given outlive it.
class FlagTable {
 public:
  // `usage` is the first line of help: "isthmus run [flags]".
  FlagTable(std::string usage, std::string description);

  void add(Flag flag);

  // One per type. The target holds the default when this is called.
  void text(std::string name, std::string& target, std::string group, std::string help);
  void boolean(std::string name, bool& target, std::string group, std::string help);
  void integer(std::string name, std::int64_t& target, std::int64_t low, std::int64_t high,
               std::string group, std::string help);
  void number(std::string name, double& target, double low, double high, std::string group,
              std::string help);
  void positive_duration(std::string name, Duration& target, std::string group, std::string help);
  void choice(std::string name, std::string& target, std::vector<std::string> allowed,
              std::string group, std::string help);

  // Takes over each good value and names every bad one, every unknown flag, and every positional
  // argument. `arguments` are without the program's and the subcommand's names.
  ParsedFlags parse(const std::vector<std::string>& arguments) const;

  std::string help() const;

 private:
  void take_over(const std::vector<std::pair<const Flag*, std::string>>& values,
                 ParsedFlags& parsed) const;

  std::string usage_;
  std::string description_;
  std::vector<Flag> flags_;
};

// --logging-format and -v, which every subcommand that logs has.
void add_logging_flags(FlagTable& table, std::string& format, std::int64_t& verbosity);

// What they mean to a logger. From verbosity 4 on, details are logged.
LogFormat log_format(std::string_view format);
Level log_threshold(std::int64_t verbosity);

}  // namespace isthmus::app
