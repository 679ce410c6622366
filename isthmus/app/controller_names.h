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
  std::string_view alias;         // "service"; taken wherever a name is.
  std::string_view running;       // The `name` of running_managed_controllers.
  std::string_view event_source;  // Of its events.
  std::string_view client;        // Of its user agent, and its ServiceAccount.
  std::string_view legacy;        // What leader migration files call it besides; may be empty.
};

inline constexpr std::string_view kNodeControllerName = "cloud-node-controller";
inline constexpr std::string_view kNodeLifecycleControllerName = "cloud-node-lifecycle-controller";
inline constexpr std::string_view kServiceControllerName = "service-lb-controller";
inline constexpr std::string_view kRouteControllerName = "node-route-controller";

std::span<const ControllerName> controller_names();

// The row of a name, an alias or a legacy name; nullptr: there is none.
const ControllerName* find_controller(std::string_view name);

// Those that a comma-separated list switches on, by name: "*" is all there are, "NAME" one, "-NAME"
// all but it; the first word about a controller counts, and without "*" those not named are off.
// invalid, with every mistake: a name that is none, an empty word, or none at all left.
Result<std::set<std::string, std::less<>>> parse_controllers(std::string_view list);

}  // namespace isthmus::app
