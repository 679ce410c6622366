#include "isthmus/controllers/node_wishes.h"

#include <algorithm>
#include <utility>

namespace isthmus::controllers {
namespace {

Wish label_wish(std::string key, std::string value) {
  return {{"metadata", "labels", std::move(key)}, std::move(value)};
}
Wish annotation_wish(std::string key, std::string value) {
  return {{"metadata", "annotations", std::move(key)}, std::move(value)};
}

Wish taint_wish(std::string key, std::string effect) {
  return {{"spec", "taints", std::move(key)}, std::move(effect)};
}

}  // namespace

Wish address_wish(const std::vector<kube::NodeAddress>& addresses) {
  return {{"status", "addresses"}, describe(addresses)};
}

std::vector<Wish> wishes_of(const kube::NodeChange& change) {
  std::vector<Wish> wishes;
  for (const auto& [key, value] : change.labels) wishes.push_back(label_wish(key, value));
  for (const std::string& key : change.removed_labels) wishes.push_back(label_wish(key, ""));
  for (const auto& [key, value] : change.annotations) wishes.push_back(annotation_wish(key, value));
  for (const std::string& key : change.removed_annotations) {
    wishes.push_back(annotation_wish(key, ""));
  }
  for (const kube::Taint& taint : change.added_taints) {
    wishes.push_back(taint_wish(taint.key, taint.effect));
  }
  for (const std::string& key : change.removed_taints) wishes.push_back(taint_wish(key, ""));
  return wishes;
}

std::vector<Wish> wishes_of(const NodePlan& plan) {
  const auto* act = std::get_if<Refresh>(&plan.what);
  if (act == nullptr) return {};
  std::vector<Wish> wishes = wishes_of(act->change);
  if (act->addresses) wishes.push_back(address_wish(*act->addresses));
  return wishes;
}

kube::NodeChange limited_to(const std::vector<Wish>& allowed, kube::NodeChange change) {
  const auto is_not_allowed = [&allowed](const Wish& wish) {
    return std::ranges::find(allowed, wish) == allowed.end();
  };
  const kube::NodeChange wanted = change;
  for (const auto& [key, value] : wanted.labels) {
    if (is_not_allowed(label_wish(key, value))) change.labels.erase(key);
  }
  for (const auto& [key, value] : wanted.annotations) {
    if (is_not_allowed(annotation_wish(key, value))) change.annotations.erase(key);
  }
  std::erase_if(change.removed_labels,
                [&](const std::string& key) { return is_not_allowed(label_wish(key, "")); });
  std::erase_if(change.removed_annotations,
                [&](const std::string& key) { return is_not_allowed(annotation_wish(key, "")); });
  std::erase_if(change.added_taints, [&](const kube::Taint& taint) {
    return is_not_allowed(taint_wish(taint.key, taint.effect));
  });
  std::erase_if(change.removed_taints,
                [&](const std::string& key) { return is_not_allowed(taint_wish(key, "")); });
  return change;
}

Refresh limited_to(const std::vector<Wish>& allowed, Refresh act) {
  const bool keeps_addresses =
      act.addresses && std::ranges::find(allowed, address_wish(*act.addresses)) != allowed.end();
  if (!keeps_addresses) act.addresses.reset();
  act.change = limited_to(allowed, std::move(act.change));
  return act;
}

}  // namespace isthmus::controllers
