// The safety switch as people reach it: a ConfigMap, because kubectl is what they have at hand when
// something goes wrong. One that is not there says nothing.
//
//   kubectl -n kube-system create configmap isthmus-safety --from-literal=stop-all-mutations=true
//
//   stop-all-mutations   "true": nothing is changed any more, in Kubernetes or the cloud, from a
//                        moment later on; what is under way is cut off. "false": work goes on.
//   acknowledge          one line for each breaker: ID@TIME, with the time (RFC 3339) at which it
//                        was written; it counts for an hour.
//
// A value that cannot be understood is told on the ConfigMap and taken for the safe one: stop, and
// nothing acknowledged. The lease is kept, and events are still told.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "isthmus/base/clock.h"
#include "isthmus/base/log.h"
#include "isthmus/base/metrics.h"
#include "isthmus/base/result.h"
#include "isthmus/base/task.h"
#include "isthmus/base/write_gate.h"
#include "isthmus/controllers/safety_switch.h"
#include "isthmus/controllers/teller.h"
#include "isthmus/kube/api/config_map.h"
#include "isthmus/kube/recorder.h"
#include "isthmus/kube/store.h"
#include "isthmus/kube/watcher.h"

namespace isthmus::controllers {

// What a ConfigMap says, as data.
struct SafetySettings {
  bool stop_all_mutations = false;
  std::map<std::string, WallTime, std::less<>> acknowledged = {};  // When, by the breaker's id.
  std::vector<std::string> mistakes = {};                          // Each names its key.

  friend bool operator==(const SafetySettings&, const SafetySettings&) = default;
};

SafetySettings read_safety_settings(const kube::StringMap& data);

// How long an acknowledgement counts, and how far the writer's clock may be ahead of ours.
inline constexpr Duration kAcknowledgedFor = std::chrono::hours(1);
inline constexpr Duration kWriterAheadMax = std::chrono::minutes(1);

// Reasons of the events on the ConfigMap.
inline constexpr const char* kMutationsStoppedReason = "MutationsStopped";
inline constexpr const char* kMutationsResumedReason = "MutationsResumed";
inline constexpr const char* kInvalidSafetySettingReason = "InvalidSafetySetting";

// A resource. It brings the gate its rule, and until the ConfigMap has been looked at once, that
// rule lets nothing pass; where our role does not let us see it at all, everything.
class ConfigMapSafetySwitch final : public SafetySwitch {
 public:
  // The store and the watcher are of this one ConfigMap. All of it outlives this object, but for
  // the gate, through which nothing may pass once this object is gone.
  struct Doors {
    kube::Store<kube::ConfigMap>& store;
    const kube::Watcher& watcher;
    WriteGate& gate;
    kube::Recorder& recorder;
    const Clock& clock;
    Metrics& metrics;
    Logger& log;
  };
  ConfigMapSafetySwitch(kube::ObjectKey name, Doors doors);

  // Returns once the ConfigMap has been looked at, or may not be, so that nothing is refused only
  // because it comes first. The watcher must be running.
  Task<Result<>> wait_until_known();

  bool mutations_stopped() const override;
  bool is_acknowledged(std::string_view breaker_id, WallTime now) const override;

 private:
  bool may_not_look() const;
  bool is_known() const { return doors_.store.has_synced() || may_not_look(); }
  Result<Moment> allows() const;
  void take(const kube::Difference<kube::ConfigMap>& difference);

  const kube::ObjectKey name_;
  const Doors doors_;
  Gauge& stopped_;
  Teller teller_;
  SafetySettings settings_;
};

}  // namespace isthmus::controllers
