#include "isthmus/app/flags.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <utility>

#include "isthmus/base/duration.h"

namespace isthmus::app {
namespace {

// Where help's explanations begin, and how wide they are.
constexpr std::size_t kHelpColumn = 44;
constexpr std::size_t kHelpWidth = 72;

constexpr std::int64_t kVerbosityMax = 10;
constexpr std::int64_t kDebugVerbosity = 4;

// What Go's strconv.ParseBool takes, and so pflag.
constexpr std::string_view kTrue[] = {"1", "t", "T", "true", "TRUE", "True"};
constexpr std::string_view kFalse[] = {"0", "f", "F", "false", "FALSE", "False"};

// One argument taken apart: "--name=value", "--name", "-v=4", "-v4", "-v".
struct Word {
  std::string name;
  std::string_view written;  // The name with its dashes, as it stands there.
  std::optional<std::string_view> value;
};

Word take_apart(std::string_view argument) {
  if (argument.starts_with("--")) {
    const std::size_t equals = argument.find('=');
    const std::string_view written = argument.substr(0, equals);
    std::string name(written.substr(2));
    std::ranges::replace(name, '_', '-');
    if (equals == std::string_view::npos) return {std::move(name), written, std::nullopt};
    return {std::move(name), written, argument.substr(equals + 1)};
  }
  const std::string_view written = argument.substr(0, 2);
  std::string name(written.substr(1));
  std::string_view rest = argument.substr(2);
  if (rest.empty()) return {std::move(name), written, std::nullopt};
  if (rest.starts_with('=')) rest.remove_prefix(1);
  return {std::move(name), written, rest};
}

std::string wrapped(std::string_view text) {
  std::string lines;
  std::size_t width = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    if (width > 0 && width + 1 + end > kHelpWidth) {
      lines += "\n" + std::string(kHelpColumn, ' ');
      width = 0;
    } else if (width > 0) {
      lines += ' ';
      ++width;
    }
    lines += text.substr(0, end);
    width += end;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::string help_line(const Flag& flag) {
  const std::string short_form =
      flag.name.size() == 1 ? fmt::format("  -{}, ", flag.name) : "      ";
  const std::string name = short_form + "--" + flag.name;
  const std::string help = flag.default_text.empty()
                               ? flag.help
                               : fmt::format("{} (default {})", flag.help, flag.default_text);
  if (name.size() < kHelpColumn) return fmt::format("{:<{}}{}\n", name, kHelpColumn, wrapped(help));
  return fmt::format("{}\n{:<{}}{}\n", name, "", kHelpColumn, wrapped(help));
}

}  // namespace

std::optional<bool> parse_boolean(std::string_view text) {
  if (std::ranges::find(kTrue, text) != std::end(kTrue)) return true;
  if (std::ranges::find(kFalse, text) != std::end(kFalse)) return false;
  return std::nullopt;
}

FlagTable::FlagTable(std::string usage, std::string description)
    : usage_(std::move(usage)), description_(std::move(description)) {}

Flag& FlagTable::add(Flag flag) { return flags_.emplace_back(std::move(flag)); }

ParsedFlags FlagTable::parse(const std::vector<std::string>& arguments, ParsedFlags before) const {
  ParsedFlags parsed = std::move(before);
  std::vector<Given> values;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view argument = arguments[i];
    if (argument.size() < 2 || !argument.starts_with('-')) {
      parsed.mistakes.add(fmt::format("\"{}\"", argument), "no argument is expected here");
      continue;
    }
    const Word word = take_apart(argument);
    const bool is_long = argument.starts_with("--");
    if (word.name == "help" || (!is_long && word.name == "h")) {
      parsed.help = true;
      continue;
    }
    const Flag* flag = find(word.name);
    if (flag == nullptr) {
      parsed.mistakes.add(argument, "there is no such flag");
    } else if (word.value) {
      values.push_back({flag, std::string(word.written), std::string(*word.value)});
    } else if (flag->is_switch) {
      values.push_back({flag, std::string(word.written), "true"});
    } else if (i + 1 < arguments.size()) {
      values.push_back({flag, std::string(word.written), arguments[++i]});
    } else {
      parsed.mistakes.add(word.written, "needs a value");
    }
  }
  take_over(values, parsed);
  return parsed;
}

// Only the last value of a repeated flag is judged, because only it counts.
void FlagTable::take_over(const std::vector<Given>& values, ParsedFlags& parsed) const {
  for (const Flag& flag : flags_) {
    std::optional<Given> counts;
    for (const Given& given : values) {
      if (given.flag != &flag) continue;
      std::string value = counts && flag.is_list ? counts->value + "," + given.value : given.value;
      counts = {&flag, given.written, std::move(value)};
    }
    if (!counts) continue;
    parsed.given.push_back(flag.name);
    Result<> taken = flag.set(counts->value);
    if (!taken) {
      parsed.mistakes.add(counts->written,
                          fmt::format("\"{}\" {}", counts->value, taken.error().message));
    }
  }
}

void FlagTable::take(const std::vector<FlagValue>& values, ParsedFlags& parsed) const {
  std::set<std::string, std::less<>> seen;
  for (const FlagValue& each : values) {
    const Flag* flag = find(each.flag);
    if (flag == nullptr) {
      parsed.mistakes.add(each.where, "there is no such flag");
    } else if (!seen.insert(each.flag).second) {
      parsed.mistakes.add(each.where, "is given twice");
    } else {
      parsed.given.push_back(each.flag);
      Result<> taken = flag->set(each.value);
      if (!taken) {
        parsed.mistakes.add(each.where,
                            fmt::format("\"{}\" {}", each.value, taken.error().message));
      }
    }
  }
}

void FlagTable::mark_without_effect(std::size_t first) {
  for (std::size_t i = first; i < flags_.size(); ++i) flags_[i].has_effect = false;
}

const Flag* FlagTable::find(std::string_view name) const {
  const auto found = std::ranges::find(flags_, name, &Flag::name);
  return found == flags_.end() ? nullptr : &*found;
}

std::string FlagTable::without_effect(const ParsedFlags& parsed) const {
  std::string names;
  for (const Flag& flag : flags_) {
    if (flag.has_effect || std::ranges::find(parsed.given, flag.name) == parsed.given.end()) {
      continue;
    }
    names += fmt::format("{}--{}", names.empty() ? "" : ", ", flag.name);
  }
  return names;
}

std::string FlagTable::help() const {
  std::string text = fmt::format("{}\n\nUsage:\n  {}\n", description_, usage_);
  std::vector<std::string_view> groups;  // In the order in which they appear.
  for (const Flag& flag : flags_) {
    if (std::ranges::find(groups, flag.group) == groups.end()) groups.push_back(flag.group);
  }
  for (const std::string_view group : groups) {
    text += fmt::format("\n{}:\n", group);
    for (const Flag& flag : flags_) {
      if (flag.group == group) text += help_line(flag);
    }
  }
  return text;
}

Flag& FlagTable::text(std::string name, std::string& target, std::string group, std::string help) {
  return add({.name = std::move(name),
              .default_text = target,
              .group = std::move(group),
              .help = std::move(help),
              .set = [&target](std::string_view value) -> Result<> {
                target = value;
                return {};
              }});
}

Flag& FlagTable::list(std::string name, std::string& target, std::string group, std::string help) {
  Flag& flag = text(std::move(name), target, std::move(group), std::move(help));
  flag.is_list = true;
  flag.composite = Flag::Composite::list;
  return flag;
}

Flag& FlagTable::boolean(std::string name, bool& target, std::string group, std::string help) {
  return add({.name = std::move(name),
              .is_switch = true,
              .default_text = target ? "true" : "false",
              .group = std::move(group),
              .help = std::move(help),
              .set = [&target](std::string_view value) -> Result<> {
                const std::optional<bool> boolean = parse_boolean(value);
                if (!boolean) return fail(Outcome::invalid, "is neither true nor false");
                target = *boolean;
                return {};
              }});
}

Flag& FlagTable::integer(std::string name, std::int64_t& target, std::int64_t low,
                         std::int64_t high, std::string group, std::string help) {
  return add({.name = std::move(name),
              .default_text = std::to_string(target),
              .group = std::move(group),
              .help = std::move(help),
              .set = [&target, low, high](std::string_view value) -> Result<> {
                std::int64_t number = 0;
                const char* end = value.data() + value.size();
                auto [rest, error] = std::from_chars(value.data(), end, number);
                if (error != std::errc{} || rest != end || number < low || number > high) {
                  return fail(Outcome::invalid,
                              fmt::format("is not a whole number from {} to {}", low, high));
                }
                target = number;
                return {};
              }});
}

Flag& FlagTable::number(std::string name, double& target, double low, double high,
                        std::string group, std::string help) {
  return add({.name = std::move(name),
              .default_text = fmt::format("{}", target),
              .group = std::move(group),
              .help = std::move(help),
              .set = [&target, low, high](std::string_view value) -> Result<> {
                double number = 0;
                const char* end = value.data() + value.size();
                auto [rest, error] = std::from_chars(value.data(), end, number);
                // Written so that "nan" fails, which is neither below nor above.
                if (error != std::errc{} || rest != end || !(number >= low && number <= high)) {
                  return fail(Outcome::invalid,
                              fmt::format("is not a number from {} to {}", low, high));
                }
                target = number;
                return {};
              }});
}

Flag& FlagTable::positive_duration(std::string name, Duration& target, std::string group,
                                   std::string help) {
  Flag& flag = duration(std::move(name), target, std::move(group), std::move(help));
  flag.set = [set = std::move(flag.set)](std::string_view value) -> Result<> {
    Result<Duration> duration = parse_duration(value);
    if (duration && *duration <= Duration::zero()) {
      return fail(Outcome::invalid, "must be longer than 0");
    }
    return set(value);
  };
  return flag;
}

Flag& FlagTable::duration(std::string name, Duration& target, std::string group, std::string help) {
  return add({.name = std::move(name),
              .default_text = format_duration(target),
              .group = std::move(group),
              .help = std::move(help),
              .set = [&target](std::string_view value) -> Result<> {
                Result<Duration> duration = parse_duration(value);
                if (!duration) return fail(Outcome::invalid, "is no duration like 1h2m3.5s");
                if (*duration < Duration::zero())
                  return fail(Outcome::invalid, "must not be below 0");
                if (*duration > kFlagDurationMax) {
                  return fail(Outcome::invalid,
                              fmt::format("must be at most {}", format_duration(kFlagDurationMax)));
                }
                target = *duration;
                return {};
              }});
}

Flag& FlagTable::choice(std::string name, std::string& target, std::vector<std::string> allowed,
                        std::string group, std::string help) {
  return add({.name = std::move(name),
              .default_text = target,
              .group = std::move(group),
              .help = std::move(help),
              .set = [&target, allowed = std::move(allowed)](std::string_view value) -> Result<> {
                if (std::ranges::find(allowed, value) == allowed.end()) {
                  return fail(Outcome::invalid,
                              fmt::format("is not one of {}", fmt::join(allowed, ", ")));
                }
                target = value;
                return {};
              }});
}

void add_logging_flags(FlagTable& table, std::string& format, std::int64_t& verbosity) {
  const std::string group = "Logs and misc flags";
  table.choice("logging-format", format, {"text", "json"}, group,
               "Format of the logs: text or json.");
  table.integer("v", verbosity, 0, kVerbosityMax, group,
                "Verbosity: 0 what operators need, 4 and above details.");
}

LogFormat log_format(std::string_view format) {
  return format == "json" ? LogFormat::json : LogFormat::text;
}

Level log_threshold(std::int64_t verbosity) {
  return verbosity >= kDebugVerbosity ? Level::debug : Level::info;
}

}  // namespace isthmus::app
