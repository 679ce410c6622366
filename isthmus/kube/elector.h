// Leader election by a Lease, so that of several managers one acts.
//
// How it keeps two from acting at once:
// - A resourceVersion on every write of the Lease is the only mutual exclusion; everything else is
//   about when to try.
// - Clocks of different machines are never compared. A standby counts the record's own duration
//   from when it saw the record change; the leader counts from when it sent its last renewal.
// - The leader stops first: at renew_deadline after the last renewal that succeeded was sent it may
//   send nothing more (LeaseLife) and its scope is cancelled; others take over only lease_duration
//   after they saw that renewal.
// - A Lease that was deleted, or edited so that we are not its holder, is lost at once.
//
// How it is fast: a standby watches the Lease, tries the moment it is released, and otherwise at
// the local expiry of what it saw last. It pauses, at random, only after an attempt that failed.
// Where watching is not allowed it looks again after one to 2.2 retry periods, at random.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "isthmus/base/clock.h"
#include "isthmus/base/log.h"
#include "isthmus/base/metrics.h"
#include "isthmus/base/mistakes.h"
#include "isthmus/base/random.h"
#include "isthmus/base/result.h"
#include "isthmus/base/scope.h"
#include "isthmus/base/task.h"
#include "isthmus/kube/api/decode.h"
#include "isthmus/kube/api/lease.h"
#include "isthmus/kube/api_door.h"
#include "isthmus/kube/lease_life.h"
#include "isthmus/kube/recorder.h"

namespace isthmus::kube {

// Upstream's flags and defaults (--leader-elect-…).
struct ElectorOptions {
  ObjectKey lease;       // kube-system/cloud-controller-manager
  std::string identity;  // Unique in the cluster: the host name and a UUID.
  Duration lease_duration = std::chrono::seconds(15);
  Duration renew_deadline = std::chrono::seconds(10);
  Duration retry_period = std::chrono::seconds(2);
  bool release_on_exit = true;
};

// invalid, with every rule that is broken: lease_duration > renew_deadline > 1.2 retry_period, all
// positive, lease_duration whole seconds in 32 bits (as a Lease is), identity and lease not empty.
Result<> check(const ElectorOptions& options);

// The part of these rules that is about the three times, by the names of their flags.
void check_times(const ElectorOptions& options, Mistakes& mistakes);

// What is done while leading.
class Leader {
 public:
  virtual ~Leader() = default;

  // Runs in a scope of its own, which is cancelled when the lease is lost or the elector's caller
  // is. When it returns, the lease is given up.
  virtual Task<Result<>> lead() = 0;
};

// A resource; runs once. The api must have no budget and connections of its own.
class Elector {
 public:
  // The options must be checked.
  Elector(ApiDoor& api, ElectorOptions options, LeaseLife& life, const Clock& clock, Random& random,
          Recorder& recorder, Metrics& metrics, Logger& log);

  // Waits for the lease, leads, and gives it up. Answers what lead() answered; lost when the lease
  // was lost first (lead() has ended then); cancelled or deadline of the calling scope.
  //
  // The release happens after lead() has ended and even when the caller is cancelled: it waits in
  // the outliving scope, for at most renew_deadline.
  Task<Result<>> run(Leader& leader, Uncancellable release);

  bool leading() const { return life_.holds(); }

  // Whether what is believed about the lease comes from the API server and nothing has spoken
  // against it since: false until the first answer, and after an attempt that failed.
  bool in_touch() const { return leading() || is_current_; }

  // Who is believed to lead, for people; empty: nobody, or not known yet.
  const std::string& holder() const { return seen_.spec.holder; }

 private:
  // From standby to leader.
  Task<Result<>> acquire();
  Task<Result<bool>> attempt();
  Task<Result<>> create();
  Task<Result<>> take();
  bool is_free() const;
  Moment expiry() const;
  void observe(Lease lease);
  Task<Result<>> wait_for_chance();
  Task<Result<>> poll();
  Task<Result<>> follow(std::unique_ptr<WatchStream> stream);
  Task<Result<bool>> next_news(WatchStream& stream);
  Task<Result<>> pause();
  Duration random_pause();
  void tell_failure(const Error& error);

  // From leader to whatever follows.
  Task<Result<>> renew_until_lost();
  Task<Result<bool>> renew();
  Task<Result<>> lead_and_end(Leader& leader, Scope& term);
  Task<Result<>> give_up();
  Task<Result<>> give_up_if_granted();
  Task<> release_by(Uncancellable release, Task<Result<>> how);
  bool is_ours(const Lease& live) const;
  void begin_term(Moment sent, Lease lease);
  void end_term();

  Task<Result<Lease>> read();
  Task<Result<Lease>> write(LeaseSpec spec);
  ObjectName name() const { return {Lease::resource, options_.lease}; }

  ApiDoor& api_;
  const ElectorOptions options_;
  LeaseLife& life_;
  const Clock& clock_;
  Random& random_;
  Recorder& recorder_;
  Logger& log_;
  Gauge& master_status_;
  Counter& slow_path_;
  Decoder decoder_;

  Lease seen_;               // The record as we saw it last.
  Moment seen_at_{};         // When we saw its spec change last.
  bool is_current_ = false;  // Nothing speaks against seen_ being the live record.
  bool is_gone_ = false;     // There is no lease, or was none when we looked last.
  bool may_watch_ = true;
  bool is_lost_ = false;
  bool may_hold_ = false;  // An attempt to take the lease has no answer that says otherwise.
  std::optional<Outcome> told_failure_;  // What the log last said about a failed attempt.
  std::optional<Result<>> lead_answer_;
};

}  // namespace isthmus::kube
