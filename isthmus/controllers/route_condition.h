// The condition NetworkUnavailable of a Node: what it should say, and whether it is ours to say it.
// A plain function.
//
// The condition has one owner at a time, whom its reason names. We write it where nobody has and
// where the reason is one of ours; a network plugin that says CalicoIsUp keeps its word, whatever
// we think of the routes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "isthmus/kube/api/node.h"

namespace isthmus::controllers {

inline constexpr std::string_view kNetworkUnavailable = "NetworkUnavailable";
inline constexpr std::string_view kRouteCreated = "RouteCreated";
inline constexpr std::string_view kNoRouteCreated = "NoRouteCreated";

// Whether the pods of the Node can be reached by its routes.
enum class Reach : std::uint8_t {
  unknown,      // Nothing that the condition should change for.
  reached,      // There is a route for each of its pod CIDRs, to its machine, and packets take it.
  not_reached,  // There is not.
};

struct RouteCondition {
  std::string status = {};  // "True": the network is unavailable.
  std::string reason = {};
  bool is_transition = false;  // The status changes; if not, its time must stay.

  friend bool operator==(const RouteCondition&, const RouteCondition&) = default;
};

// Whose the condition is, where it is not ours: the reason that says so.
std::optional<std::string_view> other_owner(const kube::Node& node);

// What has to be written; nullopt: it says so already, or is not ours.
std::optional<RouteCondition> due_condition(const kube::Node& node, Reach reach);

}  // namespace isthmus::controllers
