#include "isthmus/app/plan_table.h"

#include <algorithm>
#include <map>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "isthmus/app/status_table.h"

namespace isthmus::app {
namespace {

using controllers::Act;
using controllers::Outlook;

constexpr std::string_view kBelow = "  └ ";

std::string summary(const std::vector<Outlook>& outlooks) {
  std::map<Act, std::size_t> counts;
  for (const Outlook& each : outlooks) ++counts[each.act];
  std::vector<std::string> parts;
  for (const auto& [act, count] : counts) {
    if (act != Act::none) parts.push_back(fmt::format("{} to {}", count, to_string(act)));
  }
  if (parts.empty()) return "Nothing is to be done.\n";
  return fmt::format("{}; {} as they should be.\n", fmt::join(parts, ", "), counts[Act::none]);
}

}  // namespace

std::string plan_table(const std::vector<Outlook>& outlooks) {
  if (outlooks.empty()) return "Nothing concerns this manager.\n";
  std::vector<std::vector<std::string>> rows{{"OBJECT", "ACTION", "REASON", "WHAT"}};
  for (const Outlook& each : outlooks) {
    rows.push_back({name_of(each), std::string(to_string(each.act)),
                    each.reason.empty() ? "-" : each.reason, each.message});
    for (const std::string& detail : each.details) {
      rows.push_back({std::string(kBelow) + detail});
    }
  }
  return aligned(rows) + "\n" + summary(outlooks);
}

}  // namespace isthmus::app
