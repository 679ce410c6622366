#include "isthmus/cloud/deletion_verdict.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace isthmus::cloud {
namespace {

struct Row {
  Condition condition;
  std::string_view text;
  bool passes_by_itself;
};

constexpr std::array<Row, 22> kConditions{{
    {Condition::exact_id, "exact_id", false},
    {Condition::negatives, "negatives", true},
    {Condition::complete_list, "complete_list", true},
    {Condition::positive_control, "positive_control", true},
    {Condition::heartbeat, "heartbeat", true},
    {Condition::live_read, "live_read", true},
    {Condition::age, "age", true},
    {Condition::provider_health, "provider_health", true},
    {Condition::zone_rate, "zone_rate", true},
    {Condition::zone_frozen, "zone_frozen", false},
    {Condition::cluster_budget, "cluster_budget", false},
    {Condition::cluster_latched, "cluster_latched", false},
    {Condition::small_cluster, "small_cluster", false},
    {Condition::control_plane, "control_plane", false},
    {Condition::last_ready, "last_ready", false},
    {Condition::slow_pace, "slow_pace", false},
    {Condition::lease_life, "lease_life", true},
    {Condition::is_protected, "protected", false},
    {Condition::observe, "observe", false},
    {Condition::deletions_stopped, "deletions_stopped", false},
    {Condition::mutations_stopped, "mutations_stopped", false},
    {Condition::delete_denied, "delete_denied", false},
}};

const Row& row_of(Condition condition) {
  const auto* found = std::ranges::find(kConditions, condition, &Row::condition);
  ISTHMUS_ASSERT(found != kConditions.end(), "a condition without a word");
  return *found;
}

}  // namespace

std::string_view to_string(Standing standing) {
  constexpr std::array<std::string_view, 5> kWords = {"present", "suspect", "confirming", "gone",
                                                      "deletable"};
  return kWords.at(static_cast<std::size_t>(standing));
}

std::string_view to_string(Condition condition) { return row_of(condition).text; }

bool passes_by_itself(Condition condition) { return row_of(condition).passes_by_itself; }

std::vector<Condition> all_conditions() {
  std::vector<Condition> all;
  for (const Row& row : kConditions) all.push_back(row.condition);
  return all;
}

bool Verdict::lacks(Condition condition) const {
  return std::ranges::find(unmet, condition, &Unmet::condition) != unmet.end();
}

const Unmet* Verdict::leading() const {
  if (unmet.empty()) return nullptr;
  const auto held = std::ranges::find_if(
      unmet, [](const Unmet& each) { return !passes_by_itself(each.condition); });
  return held == unmet.end() ? &unmet.front() : &*held;
}

std::string describe(const Verdict& verdict) {
  if (verdict.unmet.empty()) return std::string(to_string(verdict.standing));
  std::vector<std::string> parts;
  for (const Unmet& each : verdict.unmet) {
    parts.push_back(fmt::format("{}: {} ({})", to_string(each.condition), each.why, each.release));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

}  // namespace isthmus::cloud
