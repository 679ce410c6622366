#include "isthmus/app/flag_reference.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "isthmus/app/conformance_options.h"
#include "isthmus/app/explain_options.h"
#include "isthmus/app/feature_gates.h"
#include "isthmus/app/infra_options.h"
#include "isthmus/app/plan_options.h"
#include "isthmus/app/run_options.h"
#include "isthmus/app/status_options.h"

namespace isthmus::app {
namespace {

constexpr std::string_view kIntroduction =
    "# Flags\n\n"
    "<!-- Made by `isthmus reference flags` from the tables that read them. -->\n\n"
    "Names, forms and defaults are those of Kubernetes' own cloud controller manager where it has\n"
    "the flag; what differs on purpose: [differences](/docs/reference/differences.md). All\n"
    "mistakes of a command line are told together, and nothing starts.\n"
    "\nA flag of `isthmus run` is also a key of the file that `--config` names; the command line\n"
    "counts before it. A key that is no flag is a mistake, and so is a list or a map for a flag\n"
    "of a single value:\n\n"
    "```yaml\n"
    "cloud-provider: isthmus\n"
    "cloud-config: /etc/isthmus/cloud.yaml\n"
    "controllers: [\"*\", \"-node-route-controller\"]\n"
    "leader-elect-lease-duration: 30s\n"
    "feature-gates: {ContextualLogging: true}\n"
    "```\n";

// A cell of a table ends at a bar.
std::string cell(std::string_view text) {
  std::string escaped;
  for (const char letter : text) {
    if (letter == '|') escaped += '\\';
    escaped += letter;
  }
  return escaped;
}

std::string row(const Flag& flag) {
  const std::string dashes = flag.name.size() == 1 ? "-" : "--";
  const std::string value = flag.default_text.empty() ? "" : fmt::format("`{}`", flag.default_text);
  return fmt::format("| `{}{}` | {} | {} |\n", dashes, flag.name, value, cell(flag.help));
}

std::vector<std::string_view> groups_of(const FlagTable& table) {
  std::vector<std::string_view> groups;
  for (const Flag& flag : table.flags()) {
    if (std::ranges::find(groups, flag.group) == groups.end()) groups.push_back(flag.group);
  }
  return groups;
}

// The rows of the flags that `belongs` picks, under their heading; empty: there are none.
template <typename Belongs>
std::string rows(std::string_view heading, const FlagTable& table, Belongs belongs) {
  std::string text;
  for (const Flag& flag : table.flags()) {
    if (belongs(flag)) text += row(flag);
  }
  if (text.empty()) return text;
  return fmt::format("\n### {}\n\n| Flag | Default | Meaning |\n|---|---|---|\n{}", heading, text);
}

template <typename Belongs>
std::string tables(const FlagTable& table, Belongs belongs) {
  std::string text;
  for (const std::string_view group : groups_of(table)) {
    text += rows(group, table, [&](const Flag& flag) {
      return flag.has_effect && flag.group == group && belongs(flag);
    });
  }
  return text + rows("Accepted, without effect", table,
                     [&](const Flag& flag) { return !flag.has_effect && belongs(flag); });
}

std::string gates() {
  std::string text =
      "\n## Feature gates\n\nThe names that `--feature-gates` takes. Those in bold change "
      "something "
      "here.\n\n| Gate | Unless said otherwise |\n|---|---|\n";
  for (const FeatureGate& gate : feature_gates()) {
    const std::string name =
        gate.has_effect ? fmt::format("**{}**", gate.name) : fmt::format("{}", gate.name);
    text += fmt::format("| {} | {}{} |\n", name, gate.enabled, gate.is_locked ? ", locked" : "");
  }
  return text;
}

}  // namespace

std::string flag_section(std::string_view title, const FlagTable& table) {
  return fmt::format("\n## {}\n", title) + tables(table, [](const Flag&) { return true; });
}

std::string flag_section(std::string_view title, const FlagTable& table, std::string_view besides,
                         const FlagTable& besides_table) {
  return fmt::format("\n## {}\n\nThe flags of {}, and:\n", title, besides) +
         tables(table, [&](const Flag& flag) { return besides_table.find(flag.name) == nullptr; });
}

std::string flag_reference() {
  RunOptions run;
  InfraOptions infra;
  StatusOptions status;
  ConformanceFlags conformance;
  PlanOptions plan;
  ExplainOptions explain;
  const FlagTable run_table = run_flags(run);
  return std::string(kIntroduction) + flag_section("isthmus run", run_table) +
         flag_section("isthmus plan", plan_flags(plan), "isthmus run", run_table) +
         flag_section("isthmus explain", explain_flags(explain), "isthmus run", run_table) +
         flag_section("isthmus infra", infra_flags(infra)) +
         flag_section("isthmus status", status_flags(status)) +
         flag_section("isthmus conformance", conformance_flags(conformance)) + gates();
}

}  // namespace isthmus::app
