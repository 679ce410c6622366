// When a machine counts as gone, in numbers. A wrong one deletes live Nodes, so each has a floor
// that no flag gets below; docs/reference/differences.md compares the defaults with upstream's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "isthmus/base/clock.h"

namespace isthmus::cloud {

enum class DeletionMode : std::uint8_t {
  strict,    // By all conditions.
  upstream,  // By one authoritative answer, as the Go framework does.
  observe,   // Nothing is deleted; everything else is the same as strict, and is told.
};

std::string_view to_string(DeletionMode mode);
std::optional<DeletionMode> parse_deletion_mode(std::string_view text);

struct DeletionPolicy {
  DeletionMode mode = DeletionMode::strict;

  // Answers by id that say "gone", so far apart, the last so long after the first.
  std::int64_t confirmations = 3;
  Duration confirmation_spacing = std::chrono::seconds(30);
  Duration min_absence = std::chrono::minutes(2);

  // How long the kubelet must have been silent, and its Node not Ready. A kubelet renews its Lease
  // every 10 s, and Kubernetes calls a Node not Ready after 40 to 50 s of silence.
  Duration heartbeat_silence = std::chrono::minutes(1);
  Duration not_ready = std::chrono::minutes(1);

  // A younger Node may have a machine that the cloud does not show everywhere yet.
  Duration min_age = std::chrono::minutes(10);

  // Deletions per second and zone, and how many at once.
  double zone_rate = 0.1;
  std::int64_t zone_burst = 3;

  // From which share of a zone's Nodes on its missing ones are a failure of the zone, and from
  // which share of the cluster's a failure of the cloud's view. Fewer than three are neither.
  std::int64_t zone_freeze_percent = 33;
  std::int64_t latch_percent = 10;

  friend bool operator==(const DeletionPolicy&, const DeletionPolicy&) = default;
};

// The floors and ceilings.
inline constexpr std::int64_t kConfirmationsMin = 2;
inline constexpr Duration kConfirmationSpacingMin = std::chrono::seconds(10);
inline constexpr Duration kMinAbsenceMin = std::chrono::minutes(1);
inline constexpr Duration kHeartbeatSilenceMin = std::chrono::seconds(40);
inline constexpr Duration kNotReadyMin = std::chrono::seconds(40);
inline constexpr Duration kMinAgeMin = std::chrono::minutes(2);
inline constexpr std::int64_t kZoneFreezePercentMax = 55;
inline constexpr std::int64_t kLatchPercentMax = 25;

// What no flag changes, with the reason.

// A list is only believed when nobody whom it lacks is heard of later: not at once, since a machine
// that was just killed may have renewed its Lease a moment before; and for longer than the ten
// seconds in which a live kubelet renews it once.
inline constexpr Duration kControlDelay = std::chrono::seconds(20);
inline constexpr Duration kControlWatch = std::chrono::seconds(15);

// With looks at the kubelets half a minute apart a control takes a minute and a half. A list that
// could not be controlled by then is old: the cloud may have put it right long ago.
inline constexpr Duration kControlMax = std::chrono::minutes(2);

// A Node must be so old that the cloud's lists ought to have its machine.
inline constexpr Duration kControlAgeMin = std::chrono::minutes(5);

// How long everything that deletes stops after the cloud was caught in a contradiction.
inline constexpr Duration kContradictionStop = std::chrono::minutes(10);

// Views must have agreed for so long before a latch, or a frozen zone, lets go by itself; what it
// then lets through goes slowly.
inline constexpr Duration kLatchQuiet = std::chrono::minutes(60);
inline constexpr Duration kFreezeQuiet = std::chrono::minutes(15);
inline constexpr Duration kSlowPace = std::chrono::minutes(5);

// While no Node is Ready, suspicions that come and go are one incident, with one id to acknowledge,
// until nobody has been suspected for so long.
inline constexpr Duration kLastReadyLinger = std::chrono::minutes(10);

// Candidates and deletions are counted over this window. So many are no mass, however small the
// cluster is.
inline constexpr Duration kBudgetWindow = std::chrono::minutes(10);
inline constexpr std::int64_t kMassMin = 3;
inline constexpr std::int64_t kClusterHalfPercent = 50;

// Clusters up to this size lose at most one Node per window.
inline constexpr std::size_t kSmallCluster = 10;

// Losing a member of etcd wrongly may cost the cluster.
inline constexpr std::int64_t kControlPlaneConfirmations = 5;
inline constexpr Duration kControlPlaneAbsence = std::chrono::minutes(10);
inline constexpr Duration kControlPlanePace = std::chrono::minutes(30);

// How well the cloud must have answered of late, and how new its last list must be.
inline constexpr Duration kHealthWindow = std::chrono::minutes(5);
inline constexpr std::int64_t kErrorPercentMax = 5;
inline constexpr Duration kListAgeMax = std::chrono::minutes(1);

// A deletion that is sent now has its answer before the lease runs out.
inline constexpr Duration kLeaseLifeMin = std::chrono::seconds(5);

// How old the live read of a Node may be when it is deleted. The kubelets are looked at in between,
// which is ten pages of Leases for 5,000 Nodes. Whatever changes on the Node meanwhile refuses the
// deletion, which carries the resourceVersion that was read.
inline constexpr Duration kLiveReadAgeMax = std::chrono::seconds(30);

// A Node that was never initialized is left alone for so long: whoever starts it may still be busy.
inline constexpr Duration kUninitializedAgeMin = std::chrono::hours(1);

// Whether every number keeps to its floor and ceiling, and the rate and burst are positive.
bool is_within_limits(const DeletionPolicy& policy);

// More candidates, or deletions, than these within the window are a mass.
std::size_t mass_limit(const DeletionPolicy& policy, std::size_t nodes);

}  // namespace isthmus::cloud
