#include "isthmus/app/explain_table.h"

#include <vector>

#include <fmt/format.h>

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

}  // namespace

std::string explain_table(const Explanation& explanation) {
  std::vector<std::vector<std::string>> rows{{"LINK", "STATE", "SEEN"}};
  for (const Link& link : explanation.links) {
    rows.push_back({link.name, std::string(to_string(link.state)), link.evidence});
    if (!link.next.empty()) rows.push_back({"  └ " + link.next});
  }
  const std::string end = is_broken(explanation)
                              ? fmt::format("Broken at {}.", explanation.links.back().name)
                              : std::string("Nothing is broken.");
  return fmt::format("{} {}\n\n{}\n{}\n{}", explanation.kind, to_string(explanation.key),
                     aligned(rows), end, events_of(explanation));
}

}  // namespace isthmus::app
