#include "isthmus/app/controller_names.h"

#include <algorithm>
#include <array>
#include <map>

#include <fmt/format.h>

#include "isthmus/base/mistakes.h"
#include "isthmus/base/text.h"

namespace isthmus::app {
namespace {

constexpr std::array<ControllerName, 4> kControllers{{
    {kNodeControllerName, "cloud-node", "cloud-node", "cloud-node-controller", "node-controller",
     ""},
    {kNodeLifecycleControllerName, "cloud-node-lifecycle", "cloud-node-lifecycle",
     "cloud-node-lifecycle-controller", "node-controller", ""},
    {kServiceControllerName, "service", "service", "service-controller", "service-controller",
     "service-controller"},
    {kRouteControllerName, "route", "route", "route_controller", "route-controller",
     "route-controller"},
}};

std::string known_names() {
  std::string names;
  for (const ControllerName& each : kControllers) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", each.name);
  }
  return names;
}

}  // namespace

std::span<const ControllerName> controller_names() { return kControllers; }

const ControllerName* find_controller(std::string_view name) {
  const auto* found = std::ranges::find_if(kControllers, [&](const ControllerName& each) {
    return each.name == name || each.alias == name || (!name.empty() && each.legacy == name);
  });
  return found == kControllers.end() ? nullptr : found;
}

Result<std::set<std::string, std::less<>>> parse_controllers(std::string_view list) {
  std::map<std::string_view, bool> said;  // By canonical name; the first word counts.
  bool all = false;
  Mistakes mistakes;
  for (const std::string_view part : split(list, ',')) {
    const std::string_view word = trimmed(part);
    if (word == "*") {
      all = true;
      continue;
    }
    const bool on = !word.starts_with('-');
    const ControllerName* controller = find_controller(on ? word : word.substr(1));
    if (controller == nullptr) {
      mistakes.add(quoted(word), fmt::format("is no controller; there are {}", known_names()));
    } else {
      said.emplace(controller->name, on);
    }
  }
  std::set<std::string, std::less<>> enabled;
  for (const ControllerName& each : kControllers) {
    const auto word = said.find(each.name);
    if (word == said.end() ? all : word->second) enabled.emplace(each.name);
  }
  if (mistakes.empty() && enabled.empty()) mistakes.add(quoted(list), "leaves no controller on");
  if (!mistakes.empty()) return fail(Outcome::invalid, mistakes.text());
  return enabled;
}

}  // namespace isthmus::app
