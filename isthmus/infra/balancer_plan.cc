#include "isthmus/infra/balancer_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "isthmus/infra/record_json.h"
#include "isthmus/infra/target_check.h"

namespace isthmus::infra {
namespace {

namespace problem = api::problem;

BalancerPlan refused(api::Problem why) {
  BalancerPlan plan;
  plan.problem = std::move(why);
  return plan;
}

// What the writer said.
bool says_the_same(const BalancerRecord& standing, const api::LoadBalancer& said) {
  return standing.metadata.labels == said.metadata.labels &&
         standing.metadata.deletion_protection == said.metadata.deletion_protection &&
         standing.spec == said.spec;
}

std::optional<api::Problem> quota_failure(const LedgerSnapshot& snapshot,
                                          const std::string& owner) {
  std::size_t count = 0;
  for (auto entry = snapshot.balancers.lower_bound(ObjectName{owner, {}});
       entry != snapshot.balancers.end() && entry->first.owner == owner; ++entry) {
    if (!entry->second->is_tombstone()) ++count;
  }
  if (count < kBalancersPerOwnerMax) return std::nullopt;
  return api::make_problem(problem::quota_exceeded,
                           fmt::format("{} has {} load balancers, and no owner may have more than "
                                       "{}; delete some",
                                       owner, count, kBalancersPerOwnerMax));
}

std::optional<api::Problem> reference_failure(const LedgerSnapshot& snapshot,
                                              const api::LoadBalancer& said) {
  std::vector<api::FieldError> errors;
  for (std::size_t i = 0; i < said.spec.target_groups.size(); ++i) {
    const std::string& set = said.spec.target_groups[i].target_set;
    if (set.empty() || snapshot.target_set({said.metadata.owner, set}) != nullptr) continue;
    errors.push_back(
        {fmt::format("/spec/targetGroups/{}/targetSet", i),
         fmt::format("{} has no target set {}; put it first", said.metadata.owner, set)});
  }
  if (errors.empty()) return std::nullopt;
  api::Problem wrong = api::make_problem(
      problem::invalid_spec, "the load balancer refers to target sets that are not there");
  wrong.errors = std::move(errors);
  return wrong;
}

// Above everything that was ever seen under the name.
std::uint64_t next_generation(const BalancerRecord* last, const Orphan* orphan,
                              std::uint64_t kernel_generation) {
  std::uint64_t highest = kernel_generation;
  if (last != nullptr) highest = std::max(highest, last->metadata.generation);
  if (orphan != nullptr) highest = std::max(highest, orphan->generation);
  return highest + 1;
}

json::value document_of(const BalancerRecord& record) {
  api::LoadBalancer balancer{.metadata = record.metadata, .spec = record.spec, .status = {}};
  // What we write is JSON.
  json::value document = parse_json(api::encode_input(balancer)).value();
  json::object& object = document.as_object();
  if (record.metadata.deletion_requested_at) {
    object["metadata"].as_object()["deletionRequestedAt"] =
        rfc3339(*record.metadata.deletion_requested_at);
  }
  object["status"] = json::object{{"addresses", record_json::to_json(record.addresses)}};
  return document;
}

}  // namespace

BalancerPlan plan_put(const LedgerSnapshot& snapshot, const api::LoadBalancer& said,
                      const Preconditions& preconditions, const Circumstances& circumstances,
                      const std::string& uid, std::uint64_t kernel_generation) {
  const ObjectName name{said.metadata.owner, said.metadata.name};
  const BalancerRecord* standing = snapshot.balancer(name);
  std::optional<Revision> revision;
  if (standing != nullptr) revision = standing->metadata.revision;
  if (auto failure = precondition_failure(preconditions, "load balancer", revision)) {
    return refused(*failure);
  }
  if (standing == nullptr) {
    if (auto failure = quota_failure(snapshot, name.owner)) return refused(*failure);
  }
  if (auto failure = reference_failure(snapshot, said)) return refused(*failure);

  auto found = circumstances.orphans.find(name);
  const Orphan* orphan = found == circumstances.orphans.end() ? nullptr : &found->second;
  BalancerPlan plan;
  plan.created = standing == nullptr;
  if (standing != nullptr) plan.generation_before = standing->metadata.generation;
  const bool stays = standing != nullptr && !standing->is_leaving();
  if (stays && orphan == nullptr && says_the_same(*standing, said)) {
    plan.record = *standing;
    return plan;
  }
  if (auto failure = target_failure(snapshot, said, circumstances)) return refused(*failure);
  auto allocated = allocate(snapshot, name, said.spec, circumstances);
  if (!allocated) return refused(std::move(allocated).error());
  plan.write = true;
  plan.record.metadata = said.metadata;
  plan.record.metadata.uid = stays ? standing->metadata.uid : uid;
  plan.record.metadata.generation =
      next_generation(snapshot.balancers.look_up(name), orphan, kernel_generation);
  plan.record.metadata.revision = revision.value_or(0);
  plan.record.metadata.deletion_requested_at.reset();
  plan.record.spec = said.spec;
  plan.record.addresses = std::move(allocated->addresses);
  plan.addresses = std::move(allocated->writes);
  return plan;
}

BalancerPlan plan_delete(const LedgerSnapshot& snapshot, const ObjectName& name,
                         const Preconditions& preconditions, WallTime now,
                         std::uint64_t kernel_generation) {
  const BalancerRecord* standing = snapshot.balancer(name);
  if (standing == nullptr) {
    return refused(api::make_problem(problem::load_balancer_not_found,
                                     fmt::format("there is no load balancer {}", to_string(name))));
  }
  const api::Metadata& metadata = standing->metadata;
  if (auto failure = precondition_failure(preconditions, "load balancer", metadata.revision)) {
    return refused(*failure);
  }
  BalancerPlan plan;
  plan.record = *standing;
  plan.generation_before = metadata.generation;
  if (standing->is_leaving()) return plan;
  if (auto failure = protection_failure(metadata)) return refused(*failure);
  plan.write = true;
  plan.record.metadata.deletion_requested_at = now;
  plan.record.metadata.generation = std::max(metadata.generation, kernel_generation);
  return plan;
}

std::vector<api::PlannedChange> changes_of(const BalancerRecord* before,
                                           const BalancerRecord& after) {
  json::value from = before == nullptr ? json::value(json::object()) : document_of(*before);
  return differences(from, document_of(after));
}

}  // namespace isthmus::infra
