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
    {kNodeControllerName, "cloud-node", "cloud-node", "cloud-node-controller", true},
    {"cloud-node-lifecycle-controller", "cloud-node-lifecycle", "cloud-node-lifecycle",
     "cloud-node-lifecycle-controller", false},
    {kServiceControllerName, "service", "service", "service-controller", true},
    {"node-route-controller", "route", "route", "route_controller", false},
}};

std::string known_names() {
  std::string names;
  for (const ControllerName& each : kControllers) {
    if (each.is_built) names += fmt::format("{}{}", names.empty() ? "" : ", ", each.name);
  }
  return names;
}

}  // namespace

std::span<const ControllerName> controller_names() { return kControllers; }

const ControllerName* find_controller(std::string_view name) {
  const auto* found = std::ranges::find_if(kControllers, [&](const ControllerName& each) {
    return each.name == name || each.alias == name;
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
    } else if (on && !controller->is_built) {
      mistakes.add(quoted(word), "is not part of this version");
    } else {
      said.emplace(controller->name, on);
    }
  }
  std::set<std::string, std::less<>> enabled;
  for (const ControllerName& each : kControllers) {
    const auto word = said.find(each.name);
    if (each.is_built && (word == said.end() ? all : word->second)) enabled.emplace(each.name);
  }
  if (mistakes.empty() && enabled.empty()) mistakes.add(quoted(list), "leaves no controller on");
  if (!mistakes.empty()) return fail(Outcome::invalid, mistakes.text());
  return enabled;
}

}  // namespace isthmus::app
