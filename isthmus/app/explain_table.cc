#include "isthmus/app/explain_table.h"

#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "isthmus/app/status_table.h"

namespace isthmus::app {
namespace {

using controllers::Explanation;
using controllers::Link;

std::string events_of(const Explanation& explanation) {
  if (explanation.events.empty()) return "";
  std::vector<std::vector<std::string>> rows{{"LAST SEEN", "TYPE", "REASON", "MESSAGE"}};
  for (const kube::Event& event : explanation.events) {
    const std::string times = event.count > 1 ? fmt::format(" ({} times)", event.count) : "";
    rows.push_back({event.last_time, event.type, event.reason, event.message + times});
  }
  return "\n" + aligned(rows);
}

std::string end_of(const Explanation& explanation) {
  if (is_broken(explanation)) return fmt::format("Broken at {}.", explanation.links.back().name);
  const std::vector<std::string> unknown = unknown_links(explanation);
  if (unknown.empty()) return "Nothing is broken.";
  return fmt::format("Nothing that could be looked at is broken; what could not: {}.",
                     fmt::join(unknown, ", "));
}

}  // namespace

std::string explain_table(const Explanation& explanation) {
  std::vector<std::vector<std::string>> rows{{"LINK", "STATE", "SEEN"}};
  for (const Link& link : explanation.links) {
    rows.push_back({link.name, std::string(to_string(link.state)), link.evidence});
    if (!link.next.empty()) rows.push_back({"  └ " + link.next});
  }
  return fmt::format("{} {}\n\n{}\n{}\n{}", explanation.kind, to_string(explanation.key),
                     aligned(rows), end_of(explanation), events_of(explanation));
}

}  // namespace isthmus::app
