#include "isthmus/cloud/removal_latches.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "isthmus/base/duration.h"

namespace isthmus::cloud {
namespace {

RemovalLatch::Batch everybody(const std::vector<const Subject*>& suspects) {
  RemovalLatch::Batch batch;
  for (const Subject* each : suspects) batch.insert(each->uid);
  return batch;
}

// Who goes as announced is no sign of a failure.
RemovalLatch::Batch unannounced(const std::vector<const Subject*>& suspects) {
  RemovalLatch::Batch batch;
  for (const Subject* each : suspects) {
    if (!each->announced) batch.insert(each->uid);
  }
  return batch;
}

bool reaches(std::size_t part, std::size_t whole, std::int64_t percent) {
  return whole > 0 && part * 100 >= whole * static_cast<std::size_t>(percent);
}

void tell(std::string_view kind, const RemovalLatch& latch, const RemovalLatch::Batch& held,
          std::vector<Fallen>& news) {
  news.push_back({kind, latch.id(), latch.why(), {held.begin(), held.end()}});
}

// Why a latch that has just opened falls again: whoever had not waited long enough is held on.
std::string came_later(std::size_t count) {
  return fmt::format("{} more Nodes were said to be gone while it held others", count);
}

Unmet held_by(Condition condition, const RemovalLatch& latch, std::string_view opens) {
  return {condition, latch.why(), fmt::format("{}, or acknowledge {}", opens, latch.id()),
          latch.opens_at()};
}

}  // namespace

void RemovalLatches::suspected(const Subject& subject, Moment now) {
  if (!subject.announced) candidates_[subject.uid] = now;
}

std::vector<Fallen> RemovalLatches::review(const Suspects& suspects, const Census& census,
                                           Now now) {
  std::erase_if(candidates_,
                [&](const auto& each) { return now.moment - each.second >= kBudgetWindow; });
  std::vector<Fallen> news;
  review_cluster(suspects, census, now, news);
  review_zones(suspects, census, now, news);
  review_last_ready(suspects, census, now, news);
  return news;
}

void RemovalLatches::review_cluster(const Suspects& suspects, const Census& census, Now now,
                                    std::vector<Fallen>& news) {
  RemovalLatch::Batch waiting = unannounced(suspects);
  const bool has_opened = cluster_.settle(waiting, now.moment);
  std::erase_if(waiting, [&](const auto& uid) { return cluster_.has_let_through(uid); });
  const auto recent = static_cast<std::size_t>(std::ranges::count_if(
      candidates_, [&](const auto& each) { return !cluster_.has_let_through(each.first); }));
  const bool is_mass = recent > mass_limit(policy_, census.nodes);
  const bool is_half = reaches(waiting.size(), census.nodes, kClusterHalfPercent);
  if (waiting.empty() || (!is_mass && !is_half && !has_opened)) return;
  std::string why = has_opened ? came_later(waiting.size())
                               : fmt::format("{} of {} Nodes were said to be gone within {}",
                                             recent, census.nodes, format_duration(kBudgetWindow));
  if (cluster_.engage(now, std::move(why))) tell("cluster", cluster_, waiting, news);
}

void RemovalLatches::review_zones(const Suspects& suspects, const Census& census, Now now,
                                  std::vector<Fallen>& news) {
  std::map<std::string, RemovalLatch::Batch> waiting;
  for (const Subject* each : suspects) {
    if (!each->announced) waiting[each->zone].insert(each->uid);
  }
  for (auto& [zone, batch] : waiting) {
    RemovalLatch& latch = zones_.try_emplace(zone, "zone/" + zone, kFreezeQuiet).first->second;
    const bool has_opened = latch.settle(batch, now.moment);
    std::erase_if(batch, [&](const auto& uid) { return latch.has_let_through(uid); });
    const auto known = census.zones.find(zone);
    const std::size_t nodes = known == census.zones.end() ? 0 : known->second;
    const bool is_mass = std::cmp_greater_equal(batch.size(), kMassMin) &&
                         reaches(batch.size(), nodes, policy_.zone_freeze_percent);
    if (batch.empty() || (!is_mass && !has_opened)) continue;
    std::string why = has_opened ? came_later(batch.size())
                                 : fmt::format("{} of {} Nodes of zone \"{}\" are said to be gone",
                                               batch.size(), nodes, zone);
    if (latch.engage(now, std::move(why))) tell("zone", latch, batch, news);
  }
  for (auto& [zone, latch] : zones_) {
    if (!waiting.contains(zone)) latch.settle({}, now.moment);
  }
  std::erase_if(zones_, [](const auto& each) { return each.second.is_idle(); });
}

void RemovalLatches::review_last_ready(const Suspects& suspects, const Census& census, Now now,
                                       std::vector<Fallen>& news) {
  if (!suspects.empty()) suspected_at_ = now.moment;
  if (census.ready > 0 || now.moment - suspected_at_ >= kLastReadyLinger) {
    last_ready_.release();
  } else if (!suspects.empty() && last_ready_.engage(now, "no Node is Ready")) {
    tell("last_ready", last_ready_, everybody(suspects), news);
  }
}

void RemovalLatches::views_agreed(Moment at) {
  each([at](std::string_view, RemovalLatch& latch) { latch.agreed(at); });
}

void RemovalLatches::views_disagreed() {
  each([](std::string_view, RemovalLatch& latch) { latch.disagreed(); });
}

void RemovalLatches::note_acknowledged(std::string_view id, bool acknowledged,
                                       const Suspects& suspects) {
  each([&](std::string_view, RemovalLatch& latch) {
    // It lingers while nobody is suspected; the word then is for whom it held, who comes again.
    if (&latch == &last_ready_ && acknowledged && suspects.empty()) return;
    if (latch.id() == id) latch.note_acknowledged(acknowledged, everybody(suspects));
  });
}

void RemovalLatches::forget(const std::string& uid) {
  each([&](std::string_view, RemovalLatch& latch) { latch.forget(uid); });
}

std::vector<Unmet> RemovalLatches::holding(const Subject& subject, std::size_t others_ready) const {
  std::vector<Unmet> holding;
  const auto zone = zones_.find(subject.zone);
  if (!subject.announced && zone != zones_.end() && zone->second.holds(subject.uid)) {
    holding.push_back(held_by(Condition::zone_frozen, zone->second,
                              "complete views of the cloud have to agree for 15m"));
  }
  if (!subject.announced && cluster_.holds(subject.uid)) {
    holding.push_back(held_by(Condition::cluster_latched, cluster_,
                              "complete views of the cloud have to agree for 1h"));
  }
  if (others_ready == 0 && !last_ready_.has_let_through(subject.uid)) {
    const std::string word = last_ready_.engaged() ? ", or acknowledge " + last_ready_.id() : "";
    holding.push_back(
        {Condition::last_ready, "no other Node is Ready", "another one has to be" + word});
  }
  return holding;
}

bool RemovalLatches::has_let_through(const std::string& uid) const {
  bool let_through = false;
  each([&](std::string_view, const RemovalLatch& latch) {
    let_through = let_through || latch.has_let_through(uid);
  });
  return let_through;
}

std::vector<Fallen> RemovalLatches::fallen() const {
  std::vector<Fallen> fallen;
  each([&](std::string_view kind, const RemovalLatch& latch) {
    if (latch.engaged()) fallen.push_back({kind, latch.id(), latch.why()});
  });
  return fallen;
}

void RemovalLatches::each(const std::function<void(std::string_view, RemovalLatch&)>& act) {
  act("cluster", cluster_);
  act("last_ready", last_ready_);
  for (auto& [zone, latch] : zones_) act("zone", latch);
}

void RemovalLatches::each(
    const std::function<void(std::string_view, const RemovalLatch&)>& act) const {
  act("cluster", cluster_);
  act("last_ready", last_ready_);
  for (const auto& [zone, latch] : zones_) act("zone", latch);
}

}  // namespace isthmus::cloud
