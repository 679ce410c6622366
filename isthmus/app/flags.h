// Command-line flags as a table: every flag of a subcommand with its default, its help and the rule
// its value must keep. All mistakes of one command line are reported together and nothing starts.
//
// The forms accepted are those of pflag, which every Kubernetes manifest is written for:
// `--name=value`, `--name value`, `-v=4`, `-v 4`, `-v4`, a switch alone meaning true (and never
// taking the next word), `_` for `-` in a name, and a repeated flag whose last value wins, unless
// it is a list, which then grows. The splitting is our own, because no library of Debian's has this
// grammar (docs/decisions/0002). The same table takes a configuration file's values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "isthmus/base/clock.h"
#include "isthmus/base/log.h"
#include "isthmus/base/mistakes.h"
#include "isthmus/base/result.h"

namespace isthmus::app {

struct Flag {
  std::string name;          // Without dashes; of one letter, it is also the short form.
  bool is_switch = false;    // May stand without a value, which then is "true".
  bool is_list = false;      // Values of a repeated flag are joined by commas.
  bool has_effect = true;    // False: taken for the sake of manifests that have it.
  std::string default_text;  // As help shows it.
  std::string group;
  std::string help;

  // What a configuration file may have for it besides a single value: what stands in it is joined
  // by commas, a map as KEY=VALUE. Where a map may stand, so may a list of such pairs.
  enum class Composite : std::uint8_t { none, list, map };
  Composite composite = Composite::none;

  // Takes over a value; invalid says what the value must be, without the flag's name.
  std::function<Result<>(std::string_view value)> set;
};

// A value of a flag that comes from elsewhere than the command line.
struct FlagValue {
  std::string flag;   // Its name, without dashes.
  std::string value;  // As on a command line.
  std::string where;  // For mistakes: "/etc/isthmus/run.yaml: line 3: kube-api-qps".
};

// What came of a command line.
struct ParsedFlags {
  Mistakes mistakes;               // Empty: all values were taken over.
  std::vector<std::string> given;  // Names of the flags that were set.
  bool help = false;               // -h or --help: print help(), exit 0.
};

// The longest period a flag may ask for: beyond anybody's wish, and short enough to be multiplied.
inline constexpr Duration kFlagDurationMax = std::chrono::hours(24 * 365 * 10);

// A boolean as Go's strconv.ParseBool reads it; nullopt: it is none.
std::optional<bool> parse_boolean(std::string_view text);

// A resource; the targets it is given outlive it.
class FlagTable {
 public:
  // `usage` is the first line of help: "isthmus run [flags]".
  FlagTable(std::string usage, std::string description);

  Flag& add(Flag flag);

  // One per type. The target holds the default when this is called. The row may be changed until
  // the next one is added.
  Flag& text(std::string name, std::string& target, std::string group, std::string help);
  Flag& list(std::string name, std::string& target, std::string group, std::string help);
  Flag& boolean(std::string name, bool& target, std::string group, std::string help);
  Flag& integer(std::string name, std::int64_t& target, std::int64_t low, std::int64_t high,
                std::string group, std::string help);
  Flag& number(std::string name, double& target, double low, double high, std::string group,
               std::string help);
  Flag& positive_duration(std::string name, Duration& target, std::string group, std::string help);
  Flag& duration(std::string name, Duration& target, std::string group, std::string help);
  Flag& choice(std::string name, std::string& target, std::vector<std::string> allowed,
               std::string group, std::string help);

  // All rows but the first so many have no effect: for a group that is only taken.
  void mark_without_effect(std::size_t first);

  // Takes over each good value and names every bad one, every unknown flag, and every positional
  // argument; a flag as it was written there, "-o" or "--output". `arguments` are without the
  // program's and the subcommand's names. `before` is what came of a source that counts less.
  ParsedFlags parse(const std::vector<std::string>& arguments, ParsedFlags before = {}) const;

  // Takes over each good value, and names each bad one, unknown flag and flag given twice. The
  // names go to `given`, as those of a command line do.
  void take(const std::vector<FlagValue>& values, ParsedFlags& parsed) const;

  // nullptr: there is no such flag.
  const Flag* find(std::string_view name) const;

  // Of the flags given, those that have no effect, as "--a, --b"; empty: all have.
  std::string without_effect(const ParsedFlags& parsed) const;

  const std::vector<Flag>& flags() const { return flags_; }
  std::string help() const;

 private:
  // A value on a command line, and the name as it stood there: "--kube_api_qps", "-v".
  struct Given {
    const Flag* flag;
    std::string written;
    std::string value;
  };
  void take_over(const std::vector<Given>& values, ParsedFlags& parsed) const;

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
