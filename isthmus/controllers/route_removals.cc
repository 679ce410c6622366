#include "isthmus/controllers/route_removals.h"

#include <algorithm>
#include <utility>

#include "isthmus/controllers/route_plan.h"

namespace isthmus::controllers {

std::vector<cloud::RouteState> RouteRemovals::pass(const std::vector<cloud::RouteState>& ownerless,
                                                   std::size_t total, Moment now) {
  std::map<IpPrefix, Suspect> suspects;
  std::vector<cloud::RouteState> due;
  for (const cloud::RouteState& state : ownerless) {
    const auto known = suspects_.find(state.destination);
    const bool is_same = known != suspects_.end() && known->second.route == route_of(state);
    const Moment since = is_same ? known->second.since : now;
    suspects.emplace(state.destination, Suspect{route_of(state), since});
    if (now >= later(since, limits_.confirm_after)) due.push_back(state);
  }
  suspects_ = std::move(suspects);
  if (removed_at_ && now < later(*removed_at_, limits_.pass_every)) due.clear();
  std::ranges::sort(due, {}, &cloud::RouteState::destination);
  const std::size_t allowed = std::max(limits_.few, total * limits_.percent / 100);
  if (due.size() > allowed) due.resize(allowed);
  return due;
}

std::optional<Moment> RouteRemovals::next_pass() const {
  std::optional<Moment> next;
  for (const auto& [destination, suspect] : suspects_) {
    const Moment due = later(suspect.since, limits_.confirm_after);
    if (!next || due < *next) next = due;
  }
  if (next && removed_at_) next = std::max(*next, later(*removed_at_, limits_.pass_every));
  return next;
}

}  // namespace isthmus::controllers
