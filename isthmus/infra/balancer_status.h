// What a load balancer's status says: a plain function from what the reconciler found to conditions
// with stable reasons and messages that name the next step.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "isthmus/infra/balancer_resolution.h"
#include "isthmus/infra/ledger_records.h"

namespace isthmus::infra {

// The reasons of conditions that programs may compare. Once given, they stay.
namespace reason {
// Of Programmed, beside its own name.
inline constexpr std::string_view pending = "Pending";                   // Its turn has not come.
inline constexpr std::string_view probing = "ProbingAddress";            // Whether others have it.
inline constexpr std::string_view address_conflict = "AddressConflict";  // Another machine has it.
inline constexpr std::string_view address_foreign = "AddressForeign";    // This host, not from us.
inline constexpr std::string_view no_interface = "NoInterface";
inline constexpr std::string_view link_down = "LinkDown";            // Where an address is.
inline constexpr std::string_view forwarding_off = "ForwardingOff";  // Of the host, for a family.
inline constexpr std::string_view address_failed = "AddressNotBound";
inline constexpr std::string_view foreign_table = "ForeignTable";
inline constexpr std::string_view not_permitted = "NotPermitted";
inline constexpr std::string_view unsupported = "KernelUnsupported";
inline constexpr std::string_view rules_failed = "RulesNotLoaded";
inline constexpr std::string_view refused = "DriverRefused";
inline constexpr std::string_view listener_taken = "ListenerTaken";
inline constexpr std::string_view store_older = "StoreOlderThanKernel";
inline constexpr std::string_view other_host = "HeldByOtherHost";
// Of TargetsHealthy.
inline constexpr std::string_view all_healthy = "AllHealthy";
inline constexpr std::string_view some_unhealthy = "SomeUnhealthy";
inline constexpr std::string_view none_healthy = "NoneHealthy";
inline constexpr std::string_view unchecked = "Unchecked";
inline constexpr std::string_view not_judged = "NotJudgedYet";
inline constexpr std::string_view no_targets = "NoTargets";
inline constexpr std::string_view set_missing = "TargetSetMissing";
// Of NoLocalTarget, beside its own name, Unchecked and NotJudgedYet.
inline constexpr std::string_view local_target = "LocalTarget";
// Of ReturnPathMissing.
inline constexpr std::string_view replies_pass = "RepliesPass";
inline constexpr std::string_view no_replies = "NoReplies";
inline constexpr std::string_view not_needed = "NotNeeded";
}  // namespace reason

// Why something is not as it should be.
struct Trouble {
  std::string_view reason;
  std::string message;

  friend bool operator==(const Trouble&, const Trouble&) = default;
};

// Why rules are not loaded, by what the driver answered.
Trouble trouble_of(const Error& error);

// What is told of the targets, counted; each counts once, however many groups it is in.
struct TargetFacts {
  std::uint32_t targets = 0;
  std::uint32_t unchecked = 0;  // Without a health check, and so taken as healthy.
  std::uint32_t healthy = 0;
  std::uint32_t unhealthy = 0;
  std::uint32_t unknown = 0;
  std::uint32_t serving = 0;
  bool all_kept = false;
  bool keeps_source = false;
  std::vector<std::string> missing_sets;
  std::optional<drivers::ListenerKey> unserved{};  // The first that no target can serve.

  // Of a host that only announces: what is known of the target that it is itself, the worst of
  // several; and what was asked in vain, "10.0.0.11:30123/healthz fails: connection refused".
  std::optional<api::Health> local{};
  std::string local_failure{};

  friend bool operator==(const TargetFacts&, const TargetFacts&) = default;
};

TargetFacts facts_of(const Resolution& resolution, const Serving& serving);

struct Repairs {
  std::uint64_t count = 0;
  std::optional<WallTime> last;
  std::string last_reason;
};

struct Findings {
  std::uint64_t applied_generation = 0;
  std::optional<Trouble> trouble;  // Why it is not Programmed.
  bool refused = false;            // The trouble is that the spec cannot be carried out here.
  TargetFacts targets;
  bool return_path_missing = false;  // Under keep: flows reach targets and are never answered.
  Repairs repairs;
};

// `before` is the status so far, of which the times of conditions that do not change are kept.
api::LoadBalancerStatus status_of(const BalancerRecord& record, const Findings& findings,
                                  const api::LoadBalancerStatus& before, WallTime now);

}  // namespace isthmus::infra
