#include "isthmus/infra/drivers/announcement_schedule.h"

#include <algorithm>

#include "isthmus/base/scope.h"

namespace isthmus::infra::drivers {
namespace {

constexpr const char* kCounterHelp = "Announcements of addresses on the link, by result.";

Counter& counter(Metrics& metrics, const char* result) {
  return metrics.counter("isthmus_announcements_total", kCounterHelp, {{"result", result}});
}

}  // namespace

AnnouncementSchedule::AnnouncementSchedule(Announcer& announcer, const Clock& clock, Random& random,
                                           Metrics& metrics, Logger& log, AnnouncementTiming timing)
    : announcer_(announcer),
      clock_(clock),
      random_(random),
      log_(log),
      timing_(timing),
      sent_(counter(metrics, "sent")),
      failed_(counter(metrics, "failed")) {}

Result<> AnnouncementSchedule::hold(const BoundAddress& address) {
  auto found = held_.find(address.address);
  if (found == held_.end() || found->second.interface != address.interface) {
    release(address.address);
    found = held_.emplace(address.address, Holding{.interface = address.interface}).first;
    announce(address.address, found->second);
    any_.set();
  }
  return told(address.address);
}

void AnnouncementSchedule::release(const IpAddress& address) {
  auto found = held_.find(address);
  if (found == held_.end()) return;
  due_.erase({*found->second.due, address});
  held_.erase(found);
  if (held_.empty()) any_.clear();
}

Result<> AnnouncementSchedule::told(const IpAddress& address) const {
  auto found = held_.find(address);
  if (found == held_.end()) return fail(Outcome::absent, "the address is not held");
  if (found->second.failure) return std::unexpected(*found->second.failure);
  return {};
}

// What is held from now on is due in a second at the earliest, so nothing is overslept.
Task<Result<>> AnnouncementSchedule::run() {
  for (;;) {
    CO_TRY(co_await any_.wait());
    announce_due();
    Moment next = later(clock_.now(), timing_.again);
    if (!due_.empty()) next = std::min(next, due_.begin()->first);
    CO_TRY(co_await sleep_until(next));
  }
}

void AnnouncementSchedule::announce_due() {
  for (std::size_t i = 0; i < kPerTurnMax; ++i) {
    if (due_.empty() || due_.begin()->first > clock_.now()) return;
    const IpAddress address = due_.begin()->second;
    due_.erase(due_.begin());
    announce(address, held_.at(address));
  }
}

void AnnouncementSchedule::announce(const IpAddress& address, Holding& holding) {
  // A failure begins anew: what follows it is again the first.
  const bool first = !holding.due || holding.failure.has_value();
  Result<> announced = announcer_.announce(address, holding.interface);
  holding.failure.reset();
  if (announced.outcome() == Outcome::unsupported) {
    // Nobody to tell, now as later.
  } else if (announced) {
    sent_.add();
    if (failing_interfaces_.erase(holding.interface) > 0) {
      log_.info("announcing again", {{"interface", holding.interface}});
    }
  } else {
    failed_.add();
    holding.failure = announced.error();
    note_failure(address, holding);
  }
  holding.due = later(clock_.now(), pause_after(holding, first));
  due_.emplace(*holding.due, address);
}

Duration AnnouncementSchedule::pause_after(Holding& holding, bool first) {
  if (first || holding.failure) {
    holding.spread = false;
    return timing_.again;
  }
  if (holding.spread) return timing_.every;
  holding.spread = true;
  return random_.between(timing_.again, timing_.every);
}

void AnnouncementSchedule::note_failure(const IpAddress& address, const Holding& holding) {
  if (!failing_interfaces_.insert(holding.interface).second) return;
  log_.warning("cannot announce", {{"interface", holding.interface},
                                   {"address", to_string(address)},
                                   {"error", *holding.failure}});
}

}  // namespace isthmus::infra::drivers
