#include "isthmus/kube/api/node.h"

#include <algorithm>

namespace isthmus::kube {

const Taint* Node::find_taint(std::string_view key) const {
  auto place = std::ranges::find(taints, key, &Taint::key);
  return place == taints.end() ? nullptr : &*place;
}

const NodeCondition* Node::find_condition(std::string_view type) const {
  auto place = std::ranges::find(conditions, type, &NodeCondition::type);
  return place == conditions.end() ? nullptr : &*place;
}

}  // namespace isthmus::kube
