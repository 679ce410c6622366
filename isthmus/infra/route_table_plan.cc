#include "isthmus/infra/route_table_plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <utility>

#include "isthmus/infra/api/prefix_set.h"
#include "isthmus/infra/field_changes.h"
#include "isthmus/infra/route_table_codec.h"

namespace isthmus::infra {
namespace {

namespace problem = api::problem;

RouteTablePlan refused(api::Problem why) {
  RouteTablePlan plan;
  plan.problem = std::move(why);
  return plan;
}

api::RouteTableSpec in_order(api::RouteTableSpec spec) {
  std::ranges::sort(spec.cluster_cidrs);
  std::ranges::sort(spec.routes, {}, &api::RouteEntry::destination);
  return spec;
}

bool says_the_same(const RouteTableRecord& standing, const api::RouteTable& said) {
  return standing.metadata.labels == said.metadata.labels &&
         standing.metadata.deletion_protection == said.metadata.deletion_protection &&
         (standing.spec == said.spec || in_order(standing.spec) == in_order(said.spec));
}

bool overlap(const IpPrefix& one, const IpPrefix& other) {
  return one.contains(other) || other.contains(one);
}

std::optional<api::Problem> quota_failure(const LedgerSnapshot& snapshot,
                                          const std::string& owner) {
  std::size_t count = 0;
  for (auto entry = snapshot.route_tables.lower_bound(ObjectName{owner, {}});
       entry != snapshot.route_tables.end() && entry->first.owner == owner; ++entry) {
    if (!entry->second->is_tombstone()) ++count;
  }
  if (count < kRouteTablesPerOwnerMax) return std::nullopt;
  return api::make_problem(
      problem::quota_exceeded,
      fmt::format("{} has {} route tables, and no owner may have more than {}; delete some", owner,
                  count, kRouteTablesPerOwnerMax));
}

// "10.0.0.0/8, fd00::/8"
std::string list_of(const std::vector<IpPrefix>& prefixes) {
  std::vector<std::string> texts;
  for (const IpPrefix& prefix : prefixes) texts.push_back(to_string(prefix));
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::optional<api::Problem> rights_failure(const api::RouteTable& said,
                                           const std::vector<IpPrefix>* destinations) {
  const std::string& owner = said.metadata.owner;
  if (destinations == nullptr) {
    return api::make_problem(
        problem::routes_not_allowed,
        fmt::format("{} may hold no route tables: its entry under owners in this server's "
                    "configuration has no routes.destinations",
                    owner));
  }
  std::vector<api::FieldError> errors;
  for (std::size_t i = 0; i < said.spec.cluster_cidrs.size(); ++i) {
    const IpPrefix& cidr = said.spec.cluster_cidrs[i];
    if (api::lies_in(*destinations, cidr)) continue;
    errors.push_back({fmt::format("/spec/clusterCIDRs/{}", i),
                      fmt::format("{} lies in none of the routes.destinations of {}: {}",
                                  to_string(cidr), owner, list_of(*destinations))});
  }
  if (errors.empty()) return std::nullopt;
  api::Problem wrong = api::make_problem(
      problem::routes_not_allowed,
      fmt::format("{} may not route all of this; the server's configuration says what", owner));
  wrong.errors = std::move(errors);
  return wrong;
}

// The first table of somebody else that has part of the CIDR. A tombstone has none.
std::optional<std::pair<ObjectName, IpPrefix>> holder_of(const LedgerSnapshot& snapshot,
                                                         const ObjectName& self,
                                                         const IpPrefix& cidr) {
  for (const auto& [name, record] : snapshot.route_tables) {
    if (name == self || record->is_tombstone()) continue;
    for (const IpPrefix& held : record->spec.cluster_cidrs) {
      if (overlap(held, cidr)) return std::pair(name, held);
    }
  }
  return std::nullopt;
}

std::optional<api::Problem> overlap_failure(const LedgerSnapshot& snapshot,
                                            const api::RouteTable& said) {
  const ObjectName self{said.metadata.owner, said.metadata.name};
  std::vector<api::FieldError> errors;
  for (std::size_t i = 0; i < said.spec.cluster_cidrs.size(); ++i) {
    const IpPrefix& cidr = said.spec.cluster_cidrs[i];
    const auto holder = holder_of(snapshot, self, cidr);
    if (!holder) continue;
    errors.push_back({fmt::format("/spec/clusterCIDRs/{}", i),
                      fmt::format("{} overlaps {} of the route table {}", to_string(cidr),
                                  to_string(holder->second), to_string(holder->first))});
  }
  if (errors.empty()) return std::nullopt;
  api::Problem taken = api::make_problem(problem::cluster_cidr_in_use, errors.front().detail);
  taken.errors = std::move(errors);
  return taken;
}

// What the standing table names, or dropped and may have left something of, and the next does not
// name.
std::vector<IpPrefix> dropped_by(const LedgerSnapshot& snapshot, const RouteTableRecord& standing,
                                 const api::RouteTableSpec& next) {
  std::set<IpPrefix> dropped;
  for (const api::RouteEntry& route : standing.spec.routes) dropped.insert(route.destination);
  if (!is_applied(snapshot, standing)) {
    dropped.insert(standing.dropped.begin(), standing.dropped.end());
  }
  for (const api::RouteEntry& route : next.routes) dropped.erase(route.destination);
  std::vector<IpPrefix> kept(dropped.begin(), dropped.end());
  if (kept.size() > kDroppedRoutesMax) kept.resize(kDroppedRoutesMax);
  return kept;
}

json::value document_of(const RouteTableRecord& record) {
  const api::RouteTable table{.metadata = record.metadata, .spec = record.spec, .status = {}};
  // What we write is JSON.
  json::value document = parse_json(api::encode_input(table)).value();
  if (record.metadata.deletion_requested_at) {
    document.as_object()["metadata"].as_object()["deletionRequestedAt"] =
        rfc3339(*record.metadata.deletion_requested_at);
  }
  return document;
}

}  // namespace

bool is_applied(const LedgerSnapshot& snapshot, const RouteTableRecord& record) {
  const RouteStatusRecord* status =
      snapshot.route_status({record.metadata.owner, record.metadata.name});
  return status != nullptr && status->status.applied_generation >= record.metadata.generation;
}

RouteTablePlan plan_put(const LedgerSnapshot& snapshot, const api::RouteTable& said,
                        const Preconditions& preconditions, const RouteCircumstances& circumstances,
                        const std::string& uid) {
  const ObjectName name{said.metadata.owner, said.metadata.name};
  const RouteTableRecord* standing = snapshot.route_table(name);
  std::optional<Revision> revision;
  if (standing != nullptr) revision = standing->metadata.revision;
  if (auto failure = precondition_failure(preconditions, "route table", revision)) {
    return refused(*failure);
  }
  if (standing == nullptr) {
    if (auto failure = quota_failure(snapshot, name.owner)) return refused(*failure);
  }
  RouteTablePlan plan;
  plan.created = standing == nullptr;
  if (standing != nullptr) plan.generation_before = standing->metadata.generation;
  const bool stays = standing != nullptr && !standing->is_leaving();
  if (stays && says_the_same(*standing, said)) {
    plan.record = *standing;
    return plan;
  }
  if (!circumstances.forwards) {
    return refused(api::make_problem(
        problem::not_offered,
        "route tables: not offered by driver announce, whose host leaves forwarding to others"));
  }
  if (auto failure = rights_failure(said, circumstances.destinations)) return refused(*failure);
  if (auto failure = overlap_failure(snapshot, said)) return refused(*failure);
  const RouteTableRecord* last = snapshot.route_tables.look_up(name);
  plan.write = true;
  plan.record.metadata = said.metadata;
  api::Metadata& metadata = plan.record.metadata;
  metadata.uid = stays ? standing->metadata.uid : uid;
  metadata.generation = last == nullptr ? 1 : last->metadata.generation + 1;
  metadata.revision = revision.value_or(0);
  metadata.deletion_requested_at.reset();
  plan.record.spec = said.spec;
  if (standing != nullptr) plan.record.dropped = dropped_by(snapshot, *standing, said.spec);
  return plan;
}

RouteTablePlan plan_delete_route_table(const LedgerSnapshot& snapshot, const ObjectName& name,
                                       const Preconditions& preconditions, WallTime now) {
  const RouteTableRecord* standing = snapshot.route_table(name);
  if (standing == nullptr) {
    return refused(api::make_problem(problem::route_table_not_found,
                                     fmt::format("there is no route table {}", to_string(name))));
  }
  const api::Metadata& metadata = standing->metadata;
  if (auto failure = precondition_failure(preconditions, "route table", metadata.revision)) {
    return refused(*failure);
  }
  RouteTablePlan plan;
  plan.record = *standing;
  plan.generation_before = metadata.generation;
  if (standing->is_leaving()) return plan;
  if (auto failure = protection_failure(metadata)) return refused(*failure);
  plan.write = true;
  plan.record.metadata.deletion_requested_at = now;
  return plan;
}

std::vector<Write> plan_finalize_route_tables(const LedgerSnapshot& snapshot,
                                              std::span<const ObjectName> names, WallTime now) {
  std::vector<Write> writes;
  for (const ObjectName& name : names) {
    const RouteTableRecord* standing = snapshot.route_table(name);
    if (standing == nullptr || !standing->is_leaving()) continue;
    RouteTableRecord tombstone{.metadata = standing->metadata, .deleted_at = now};
    writes.push_back({key_of(kRouteTablePrefix, name), encode(tombstone)});
    if (snapshot.route_status(name) != nullptr) {
      writes.push_back({key_of(kRouteStatusPrefix, name), std::nullopt});
    }
  }
  return writes;
}

std::vector<api::PlannedChange> changes_of(const RouteTableRecord* before,
                                           const RouteTableRecord& after) {
  json::value from = before == nullptr ? json::value(json::object()) : document_of(*before);
  return differences(from, document_of(after));
}

}  // namespace isthmus::infra
