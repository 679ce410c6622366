#include "isthmus/cloud/removal_budget.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "isthmus/base/duration.h"

namespace isthmus::cloud {
namespace {

// The longest that anything here looks back.
constexpr Duration kRemembered = std::max({kBudgetWindow, kControlPlanePace, kSlowPace});

Duration seconds_of(double seconds) {
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
}

}  // namespace

std::vector<Unmet> RemovalBudget::refusals(const Removal& removal, const Population& population,
                                           Moment now) const {
  std::vector<Unmet> refusals;
  const auto add = [&](std::optional<Unmet> refusal) {
    if (refusal) refusals.push_back(*std::move(refusal));
  };
  add(zone_refusal(removal, now));
  add(cluster_refusal(removal, population.nodes, now));
  add(small_refusal(population.nodes, now));
  if (removal.control_plane) add(control_plane_refusal(population, now));
  if (removal.slow) add(pace_refusal(now));
  return refusals;
}

void RemovalBudget::take(Removal removal, Moment now) {
  std::erase_if(taken_, [&](const Taken& each) { return now - each.at > kRemembered; });
  give_back(removal.uid);  // The same one, tried again.
  taken_.push_back({std::move(removal), now});
}

void RemovalBudget::give_back(std::string_view uid) {
  std::erase_if(taken_, [&](const Taken& each) { return each.removal.uid == uid; });
}

std::size_t RemovalBudget::recent(Moment now) const {
  return static_cast<std::size_t>(std::ranges::count_if(taken_, [&](const Taken& each) {
    return !each.removal.announced && now - each.at < kBudgetWindow;
  }));
}

// When the zone's bucket has a token: the bucket is replayed from what was taken, so that giving
// back needs no arithmetic. nullopt: it has one.
std::optional<Moment> RemovalBudget::zone_free_at(const std::string& zone, Moment now) const {
  const auto burst = static_cast<double>(policy_.zone_burst);
  double tokens = burst;
  std::optional<Moment> last;
  const auto fill = [&](Moment at) {
    if (!last) return;
    const double seconds = std::chrono::duration<double>(at - *last).count();
    tokens = std::min(burst, tokens + (seconds * policy_.zone_rate));
  };
  for (const Taken& each : taken_) {
    if (each.removal.zone != zone) continue;
    fill(each.at);
    tokens -= 1;
    last = each.at;
  }
  fill(now);
  if (tokens >= 1) return std::nullopt;
  return now + seconds_of((1 - tokens) / policy_.zone_rate);
}

std::optional<Unmet> RemovalBudget::zone_refusal(const Removal& removal, Moment now) const {
  const std::optional<Moment> free_at = zone_free_at(removal.zone, now);
  if (!free_at) return std::nullopt;
  return Unmet{Condition::zone_rate, fmt::format("zone \"{}\" has just lost others", removal.zone),
               fmt::format("one goes every {}", format_duration(seconds_of(1 / policy_.zone_rate))),
               free_at};
}

std::optional<Unmet> RemovalBudget::cluster_refusal(const Removal& removal, std::size_t nodes,
                                                    Moment now) const {
  const std::size_t limit = mass_limit(policy_, nodes);
  if (removal.announced || recent(now) < limit) return std::nullopt;
  std::vector<Moment> counted;
  for (const Taken& each : taken_) {
    if (!each.removal.announced && now - each.at < kBudgetWindow) counted.push_back(each.at);
  }
  return Unmet{Condition::cluster_budget,
               fmt::format("{} Nodes were deleted within {}", counted.size(),
                           format_duration(kBudgetWindow)),
               fmt::format("at most {} are", limit),
               counted.at(counted.size() - limit) + kBudgetWindow};
}

std::optional<Unmet> RemovalBudget::small_refusal(std::size_t nodes, Moment now) const {
  if (nodes > kSmallCluster || taken_.empty()) return std::nullopt;
  const Moment free_at = taken_.back().at + kBudgetWindow;
  if (now >= free_at) return std::nullopt;
  return Unmet{Condition::small_cluster,
               fmt::format("a cluster of {} Nodes has just lost one", nodes),
               fmt::format("one goes every {}", format_duration(kBudgetWindow)), free_at};
}

std::optional<Unmet> RemovalBudget::control_plane_refusal(const Population& population,
                                                          Moment now) const {
  const std::size_t quorum = (population.control_planes / 2) + 1;
  if (population.control_planes_ready < quorum) {
    return Unmet{Condition::control_plane,
                 fmt::format("{} of {} control-plane Nodes are Ready besides it",
                             population.control_planes_ready, population.control_planes),
                 fmt::format("{} have to be", quorum)};
  }
  const auto last = std::ranges::find_if(
      taken_.rbegin(), taken_.rend(), [](const Taken& each) { return each.removal.control_plane; });
  if (last == taken_.rend() || now >= last->at + kControlPlanePace) return std::nullopt;
  return Unmet{Condition::control_plane, "another control-plane Node was deleted lately",
               fmt::format("one goes every {}", format_duration(kControlPlanePace)),
               last->at + kControlPlanePace};
}

std::optional<Unmet> RemovalBudget::pace_refusal(Moment now) const {
  const auto last = std::ranges::find_if(taken_.rbegin(), taken_.rend(),
                                         [](const Taken& each) { return each.removal.slow; });
  if (last == taken_.rend() || now >= last->at + kSlowPace) return std::nullopt;
  return Unmet{Condition::slow_pace, "another of a held batch was deleted lately",
               fmt::format("one goes every {}", format_duration(kSlowPace)), last->at + kSlowPace};
}

}  // namespace isthmus::cloud
