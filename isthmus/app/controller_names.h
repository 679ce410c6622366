// The controllers of the manager by their names, and which of them --controllers switches on.
#pragma once

#include <set>
#include <span>
#include <string>
#include <string_view>

#include "isthmus/base/result.h"

namespace isthmus::app {

// Names are upstream's: manifests, dashboards and roles say them.
struct ControllerName {
  std::string_view name;          // "service-lb-controller"
  std::string_view alias;         // "service"; --controllers takes both.
  std::string_view running;       // The `name` of running_managed_controllers.
  std::string_view event_source;  // Of its events.
  bool is_built;                  // False: upstream has it, and this version has not.
};

inline constexpr std::string_view kNodeControllerName = "cloud-node-controller";
inline constexpr std::string_view kServiceControllerName = "service-lb-controller";

std::span<const ControllerName> controller_names();

// The row of a name or alias; nullptr: there is none.
const ControllerName* find_controller(std::string_view name);

// Those that a comma-separated list switches on, by name: "*" is all there are, "NAME" one, "-NAME"
// all but it; the first word about a controller counts, and without "*" those not named are off.
// A controller that is not built is off, and may be switched off. invalid, with every mistake: a
// name that is none, an empty word, a controller asked for by name that is not built, or none at
// all left.
Result<std::set<std::string, std::less<>>> parse_controllers(std::string_view list);

}  // namespace isthmus::app
