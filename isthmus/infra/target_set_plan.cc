#include "isthmus/infra/target_set_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "isthmus/infra/target_check.h"

namespace isthmus::infra {
namespace {

namespace problem = api::problem;

// Enough for somebody to know where to look.
constexpr std::size_t kUsersNamedMax = 3;

TargetSetPlan refused(api::Problem why) {
  TargetSetPlan plan;
  plan.problem = std::move(why);
  return plan;
}

// The order of targets, and of a target's addresses, means nothing.
std::vector<api::SetTarget> in_order(std::vector<api::SetTarget> targets) {
  for (api::SetTarget& target : targets) std::ranges::sort(target.addresses);
  std::ranges::sort(targets, {}, &api::SetTarget::name);
  return targets;
}

bool says_the_same(const api::TargetSet& standing, const api::TargetSet& said) {
  return standing.metadata.labels == said.metadata.labels &&
         standing.metadata.deletion_protection == said.metadata.deletion_protection &&
         (standing.targets == said.targets || in_order(standing.targets) == in_order(said.targets));
}

std::optional<api::Problem> quota_failure(const LedgerSnapshot& snapshot,
                                          const std::string& owner) {
  std::size_t count = 0;
  for (auto entry = snapshot.target_sets.lower_bound(ObjectName{owner, {}});
       entry != snapshot.target_sets.end() && entry->first.owner == owner; ++entry) {
    if (!entry->second->deleted_at) ++count;
  }
  if (count < kTargetSetsPerOwnerMax) return std::nullopt;
  return api::make_problem(
      problem::quota_exceeded,
      fmt::format("{} has {} target sets, and no owner may have more than {}; delete some", owner,
                  count, kTargetSetsPerOwnerMax));
}

std::optional<api::Problem> use_failure(const LedgerSnapshot& snapshot, const ObjectName& name) {
  std::vector<ObjectName> users = snapshot.users_of(name);
  if (users.empty()) return std::nullopt;
  std::string named;
  for (std::size_t i = 0; i < std::min(users.size(), kUsersNamedMax); ++i) {
    named += (i == 0 ? "" : ", ") + users[i].name;
  }
  if (users.size() > kUsersNamedMax) {
    named += fmt::format(" and {} more", users.size() - kUsersNamedMax);
  }
  return api::make_problem(
      problem::target_set_in_use,
      fmt::format("{} is used by the load balancer{} {}; delete {} first", to_string(name),
                  users.size() == 1 ? "" : "s", named, users.size() == 1 ? "it" : "them"));
}

}  // namespace

TargetSetPlan plan_put(const LedgerSnapshot& snapshot, const api::TargetSet& said,
                       const Preconditions& preconditions, const Circumstances& circumstances,
                       const std::string& uid) {
  const ObjectName name{said.metadata.owner, said.metadata.name};
  const TargetSetRecord* standing = snapshot.target_set(name);
  std::optional<Revision> revision;
  if (standing != nullptr) revision = standing->set.metadata.revision;
  if (auto failure = precondition_failure(preconditions, "target set", revision)) {
    return refused(*failure);
  }
  if (standing == nullptr) {
    if (auto failure = quota_failure(snapshot, name.owner)) return refused(*failure);
  }
  TargetSetPlan plan;
  plan.created = standing == nullptr;
  if (standing != nullptr) plan.generation_before = standing->set.metadata.generation;
  if (standing != nullptr && says_the_same(standing->set, said)) {
    plan.record = *standing;
    return plan;
  }
  if (auto failure = target_failure(snapshot, said, circumstances)) return refused(*failure);
  const TargetSetRecord* last = snapshot.target_sets.look_up(name);
  plan.write = true;
  plan.record.set = said;
  plan.record.set.users = 0;
  api::Metadata& metadata = plan.record.set.metadata;
  metadata.uid = standing == nullptr ? uid : standing->set.metadata.uid;
  metadata.generation = last == nullptr ? 1 : last->set.metadata.generation + 1;
  metadata.revision = revision.value_or(0);
  metadata.deletion_requested_at.reset();
  return plan;
}

TargetSetPlan plan_delete_target_set(const LedgerSnapshot& snapshot, const ObjectName& name,
                                     const Preconditions& preconditions, WallTime now) {
  const TargetSetRecord* standing = snapshot.target_set(name);
  if (standing == nullptr) {
    return refused(api::make_problem(problem::target_set_not_found,
                                     fmt::format("there is no target set {}", to_string(name))));
  }
  const api::Metadata& metadata = standing->set.metadata;
  if (auto failure = precondition_failure(preconditions, "target set", metadata.revision)) {
    return refused(*failure);
  }
  if (auto failure = protection_failure(metadata)) return refused(*failure);
  if (auto failure = use_failure(snapshot, name)) return refused(*failure);
  TargetSetPlan plan;
  plan.record = *standing;
  plan.record.deleted_at = now;
  plan.record.set.targets = {};  // A tombstone needs none.
  plan.record.set.metadata.deletion_requested_at = now;
  plan.generation_before = metadata.generation;
  plan.write = true;
  return plan;
}

std::vector<api::PlannedChange> changes_of(const TargetSetRecord* before,
                                           const TargetSetRecord& after) {
  // What we write is JSON.
  auto document_of = [](const TargetSetRecord& record) {
    if (record.deleted_at) return json::value(json::object());
    return parse_json(api::encode_input(record.set)).value();
  };
  json::value from = before == nullptr ? json::value(json::object()) : document_of(*before);
  return differences(from, document_of(after));
}

}  // namespace isthmus::infra
