#include "isthmus/controllers/route_condition.h"

namespace isthmus::controllers {

std::optional<std::string_view> other_owner(const kube::Node& node) {
  const kube::NodeCondition* condition = node.find_condition(kNetworkUnavailable);
  if (condition == nullptr) return std::nullopt;
  if (condition->reason == kRouteCreated || condition->reason == kNoRouteCreated) {
    return std::nullopt;
  }
  return condition->reason;
}

std::optional<RouteCondition> due_condition(const kube::Node& node, Reach reach) {
  if (reach == Reach::unknown || other_owner(node)) return std::nullopt;
  const bool reached = reach == Reach::reached;
  RouteCondition due{.status = reached ? "False" : "True",
                     .reason = std::string(reached ? kRouteCreated : kNoRouteCreated)};
  const kube::NodeCondition* has = node.find_condition(kNetworkUnavailable);
  if (has != nullptr && has->status == due.status && has->reason == due.reason) {
    return std::nullopt;
  }
  due.is_transition = has == nullptr || has->status != due.status;
  return due;
}

}  // namespace isthmus::controllers
