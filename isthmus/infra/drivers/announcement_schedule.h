// Announces every address that this host holds: when it comes, again after a second in case that
// was lost, and from then on every ten seconds, because a neighbour may forget, a switch may
// restart, and another host may have claimed it meanwhile (RFC 5227 section 3 asks for two).
//
//   AnnouncementSchedule schedule(announcer, loop, random, metrics, log);
//   scope.spawn(&AnnouncementSchedule::run, &schedule);
//   Result<> told = schedule.hold({address, "eth0"});   // once it is bound
//   schedule.release(address);                          // before it is unbound
//
// Many addresses that came together are soon spread evenly over the ten seconds.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "isthmus/base/clock.h"
#include "isthmus/base/log.h"
#include "isthmus/base/metrics.h"
#include "isthmus/base/random.h"
#include "isthmus/base/signal.h"
#include "isthmus/base/task.h"
#include "isthmus/infra/drivers/addresses.h"
#include "isthmus/infra/drivers/announcement.h"

namespace isthmus::infra::drivers {

struct AnnouncementTiming {
  Duration again = std::chrono::seconds(1);   // After the first, and after one that failed.
  Duration every = std::chrono::seconds(10);  // The longest time between two others.
};

// A resource; everything given to it outlives it.
class AnnouncementSchedule {
 public:
  AnnouncementSchedule(Announcer& announcer, const Clock& clock, Random& random, Metrics& metrics,
                       Logger& log, AnnouncementTiming timing = {});
  AnnouncementSchedule(const AnnouncementSchedule&) = delete;
  AnnouncementSchedule& operator=(const AnnouncementSchedule&) = delete;

  // Announces the address at once, before it returns, and keeps on until release(). One that is
  // held already on this interface is left as it is; on another interface it moves there.
  //
  // ok: the link was told, or has nobody to tell (a loopback). Else what Announcer::announce says,
  // of the last try; the address is held all the same, and announced as soon as that works.
  Result<> hold(const BoundAddress& address);

  // It is never announced again. One that is not held is no error.
  void release(const IpAddress& address);

  // As hold() answered when the address was last announced; absent: it is not held.
  Result<> told(const IpAddress& address) const;

  std::size_t size() const { return held_.size(); }

  // Does the announcing that is due, until its scope ends; that is its only error. One at a time.
  Task<Result<>> run();

  // So many are announced in one turn of the loop, at about 10 µs each.
  static constexpr std::size_t kPerTurnMax = 64;

 private:
  struct Holding {
    std::string interface{};
    std::optional<Moment> due{};  // None: never announced yet.
    bool spread = false;          // Its place in the ten seconds is drawn.
    std::optional<Error> failure{};
  };

  void announce(const IpAddress& address, Holding& holding);
  void announce_due();
  Duration pause_after(Holding& holding, bool first);
  void note_failure(const IpAddress& address, const Holding& holding);

  Announcer& announcer_;
  const Clock& clock_;
  Random& random_;
  Logger& log_;
  const AnnouncementTiming timing_;
  Counter& sent_;
  Counter& failed_;

  std::map<IpAddress, Holding> held_;
  std::set<std::pair<Moment, IpAddress>> due_;
  std::set<std::string> failing_interfaces_;  // Logged as such, so as not to log each address.
  Signal any_;                                // Set while anything is held.
};

}  // namespace isthmus::infra::drivers
