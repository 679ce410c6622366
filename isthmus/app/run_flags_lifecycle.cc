#include "isthmus/app/run_flags_impl.h"

#include <array>
#include <utility>

#include <fmt/format.h>

#include "isthmus/base/duration.h"

namespace isthmus::app {
namespace {

constexpr std::string_view kGroup = "cloud-node-lifecycle-controller flags";

// One deletion per second is ten times the default, and more than a burst of a hundred is none.
constexpr double kRateMin = 0.001;
constexpr double kRateMax = 1;
constexpr std::int64_t kBurstMax = 100;
constexpr std::int64_t kConfirmationsMax = 100;

void add_evidence_flags(FlagTable& table, LifecycleFlags& flags) {
  const std::string group(kGroup);
  table.integer("node-deletion-confirmations", flags.policy.confirmations, cloud::kConfirmationsMin,
                kConfirmationsMax, group,
                "Answers by id that must say that a machine is gone before its Node is deleted.");
  table.positive_duration("node-deletion-confirmation-spacing", flags.policy.confirmation_spacing,
                          group, "How far apart these answers must be; at least 10s.");
  table.positive_duration("node-deletion-min-absence", flags.policy.min_absence, group,
                          "How long the machine must have been gone by them; at least 1m.");
  table.positive_duration("node-deletion-heartbeat-silence", flags.policy.heartbeat_silence, group,
                          "How long its kubelet must not have renewed its Lease; at least 40s.");
  table.positive_duration("node-deletion-not-ready", flags.policy.not_ready, group,
                          "How long its Node must not have been Ready; at least 40s.");
  table.positive_duration("node-deletion-min-age", flags.policy.min_age, group,
                          "How old the Node must be, unless the cloud has once said that its "
                          "machine is there; at least 2m.");
}

void add_budget_flags(FlagTable& table, LifecycleFlags& flags) {
  const std::string group(kGroup);
  table.number("node-deletion-rate", flags.policy.zone_rate, kRateMin, kRateMax, group,
               "Nodes that may be deleted per second and zone.");
  table.integer("node-deletion-burst", flags.policy.zone_burst, 1, kBurstMax, group,
                "Nodes of a zone that may be deleted at once.");
  table.integer("node-deletion-zone-freeze-percent", flags.policy.zone_freeze_percent, 1,
                cloud::kZoneFreezePercentMax, group,
                "Share of a zone's Nodes whose machines seem to be gone from which on none of the "
                "zone is deleted.");
  table.integer("node-deletion-latch-percent", flags.policy.latch_percent, 1,
                cloud::kLatchPercentMax, group,
                "Share of the cluster's Nodes whose machines seem to have gone within 10m above "
                "which none is deleted.");
}

}  // namespace

void add_lifecycle_flags(FlagTable& table, LifecycleFlags& flags) {
  const std::string group(kGroup);
  table.positive_duration("node-monitor-period", flags.monitor_period, group,
                          "How soon the machine of a Node that is not Ready is looked at again; "
                          "later and later, up to 1m, while nothing changes.");
  table.integer("concurrent-node-lifecycle-syncs", flags.concurrent_syncs, 1, kWorkersMax, group,
                "How many machines are asked for by id at once.");
  table.boolean("node-out-of-service-taint", flags.out_of_service_taint, group,
                "Set the taint node.kubernetes.io/out-of-service on Nodes whose machines are "
                "certainly shut down, until they run again.");
  table.choice("node-deletion", flags.deletion, {"strict", "upstream", "observe"}, group,
               "When the Node of a machine that is gone is deleted: when everything says so, by "
               "one answer of the cloud, or never.");
  add_evidence_flags(table, flags);
  add_budget_flags(table, flags);
}

void check_lifecycle_flags(const LifecycleFlags& flags, Mistakes& mistakes) {
  struct Floor {
    std::string_view flag;
    Duration value;
    Duration floor;
  };
  const std::array<Floor, 5> floors{{
      {"--node-deletion-confirmation-spacing", flags.policy.confirmation_spacing,
       cloud::kConfirmationSpacingMin},
      {"--node-deletion-min-absence", flags.policy.min_absence, cloud::kMinAbsenceMin},
      {"--node-deletion-heartbeat-silence", flags.policy.heartbeat_silence,
       cloud::kHeartbeatSilenceMin},
      {"--node-deletion-not-ready", flags.policy.not_ready, cloud::kNotReadyMin},
      {"--node-deletion-min-age", flags.policy.min_age, cloud::kMinAgeMin},
  }};
  for (const Floor& each : floors) {
    if (each.value >= each.floor) continue;
    mistakes.add(each.flag, fmt::format("must be at least {}: less would delete live Nodes",
                                        format_duration(each.floor)));
  }
}

controllers::NodeLifecycleOptions lifecycle_options(const LifecycleFlags& flags) {
  controllers::NodeLifecycleOptions options;
  options.plan.out_of_service = flags.out_of_service_taint;
  options.rounds.period = flags.monitor_period;
  options.rounds.calls_at_once = static_cast<std::size_t>(flags.concurrent_syncs);
  options.policy = flags.policy;
  options.policy.mode =
      cloud::parse_deletion_mode(flags.deletion).value_or(cloud::DeletionMode::strict);
  return options;
}

}  // namespace isthmus::app
