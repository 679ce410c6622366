#include "isthmus/app/feature_gates.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "isthmus/app/flags.h"
#include "isthmus/base/mistakes.h"
#include "isthmus/base/text.h"

namespace isthmus::app {
namespace {

constexpr std::string_view kAllAlpha = "AllAlpha";
constexpr std::string_view kAllBeta = "AllBeta";

// Those of k8s.io/cloud-provider v0.37.2 and of what it links; all but kReleaseGate as there.
constexpr std::array kGates{
    FeatureGate{.name = "APIResponseCompression", .enabled = true, .stage = GateStage::beta},
    FeatureGate{.name = "APIServerIdentity", .enabled = true, .stage = GateStage::beta},
    FeatureGate{
        .name = "APIServerWebhookAuthenticationToken", .enabled = false, .stage = GateStage::alpha},
    FeatureGate{.name = "APIServingWithRoutine", .enabled = false, .stage = GateStage::alpha},
    FeatureGate{.name = "AggregatedDiscoveryRemoveBetaType",
                .enabled = true,
                .stage = GateStage::deprecated,
                .is_locked = true},
    FeatureGate{
        .name = "AllAlpha", .enabled = false, .stage = GateStage::alpha, .has_effect = true},
    FeatureGate{.name = "AllBeta", .enabled = false, .stage = GateStage::beta, .has_effect = true},
    FeatureGate{
        .name = "AllowParsingUserUIDFromCertAuth", .enabled = true, .stage = GateStage::beta},
    FeatureGate{
        .name = "AllowUnsafeMalformedObjectDeletion", .enabled = true, .stage = GateStage::beta},
    FeatureGate{.name = "CBORServingAndStorage", .enabled = false, .stage = GateStage::alpha},
    FeatureGate{.name = "CloudControllerManagerWatchBasedRoutesReconciliation",
                .enabled = false,
                .stage = GateStage::alpha},
    FeatureGate{
        .name = "CloudControllerManagerWebhook", .enabled = false, .stage = GateStage::alpha},
    FeatureGate{.name = "ComponentFlagz", .enabled = true, .stage = GateStage::beta},
    FeatureGate{.name = "ComponentStatusz", .enabled = true, .stage = GateStage::beta},
    FeatureGate{.name = "ConcurrentWatchObjectDecode", .enabled = true, .stage = GateStage::beta},
    FeatureGate{.name = "ConsistentListFromCacheSkipTimeoutFallback",
                .enabled = false,
                .stage = GateStage::alpha},
    FeatureGate{.name = "ConstrainedImpersonation", .enabled = true, .stage = GateStage::beta},
    FeatureGate{.name = "ContextualLogging", .enabled = true, .stage = GateStage::beta},
    FeatureGate{
        .name = kReleaseGate, .enabled = true, .stage = GateStage::alpha, .has_effect = true},
    FeatureGate{.name = "CoordinatedLeaderElection", .enabled = false, .stage = GateStage::beta},
    FeatureGate{.name = "DeclarativeValidation",
                .enabled = true,
                .stage = GateStage::stable,
                .is_locked = true},
    FeatureGate{.name = "DeclarativeValidationBeta", .enabled = true, .stage = GateStage::beta},
    FeatureGate{.name = "DeclarativeValidationTakeover",
                .enabled = false,
                .stage = GateStage::deprecated,
                .is_locked = true},
    FeatureGate{.name = "DetectCacheInconsistency", .enabled = true, .stage = GateStage::beta},
    FeatureGate{.name = "EtcdRangeStream", .enabled = true, .stage = GateStage::beta},
    FeatureGate{.name = "ExcludeAdmissionWebhookVirtualResources",
                .enabled = true,
                .stage = GateStage::beta},
    FeatureGate{.name = "KMSv1", .enabled = false, .stage = GateStage::deprecated},
    FeatureGate{.name = "ListFromCacheSnapshot", .enabled = true, .stage = GateStage::beta},
    FeatureGate{
        .name = kLoggingAlphaGate, .enabled = false, .stage = GateStage::alpha, .has_effect = true},
    FeatureGate{.name = "LoggingBetaOptions", .enabled = true, .stage = GateStage::beta},
    FeatureGate{
        .name = "ManifestBasedAdmissionControlConfig", .enabled = true, .stage = GateStage::beta},
    FeatureGate{.name = "MutatingAdmissionPolicy", .enabled = true, .stage = GateStage::stable},
    FeatureGate{.name = "NativeHistograms", .enabled = true, .stage = GateStage::beta},
    FeatureGate{.name = "OpenAPIEnums", .enabled = true, .stage = GateStage::beta},
    FeatureGate{.name = "RemoteRequestHeaderUID", .enabled = true, .stage = GateStage::beta},
    FeatureGate{.name = "SeparateCacheWatchRPC",
                .enabled = false,
                .stage = GateStage::deprecated,
                .is_locked = true},
    FeatureGate{.name = "ShardedListAndWatch", .enabled = false, .stage = GateStage::alpha},
    FeatureGate{.name = "SizeBasedListCostEstimate", .enabled = true, .stage = GateStage::beta},
    FeatureGate{.name = "StorageVersionAPI", .enabled = false, .stage = GateStage::alpha},
    FeatureGate{.name = "StorageVersionHash", .enabled = true, .stage = GateStage::beta},
    FeatureGate{.name = "StructuredAuthenticationConfigurationEgressSelector",
                .enabled = true,
                .stage = GateStage::beta},
    FeatureGate{.name = "StructuredAuthenticationConfigurationJWKSMetrics",
                .enabled = true,
                .stage = GateStage::beta},
    FeatureGate{.name = "TokenRequestServiceAccountUIDValidation",
                .enabled = true,
                .stage = GateStage::beta},
    FeatureGate{
        .name = "UnauthenticatedHTTP2DOSMitigation", .enabled = true, .stage = GateStage::beta},
    FeatureGate{
        .name = "UnknownVersionInteroperabilityProxy", .enabled = true, .stage = GateStage::beta},
    FeatureGate{.name = "WatchCacheInitializationPostStartHook",
                .enabled = true,
                .stage = GateStage::stable,
                .is_locked = true},
    FeatureGate{.name = "WatchList", .enabled = true, .stage = GateStage::beta},
    FeatureGate{.name = "WatchListCompression", .enabled = true, .stage = GateStage::beta},
    FeatureGate{.name = "WebhookRoundTripLoadBalancing", .enabled = true, .stage = GateStage::beta},
};

const FeatureGate* find_gate(std::string_view name) {
  const auto* found = std::ranges::find(kGates, name, &FeatureGate::name);
  return found == kGates.end() ? nullptr : found;
}

}  // namespace

std::span<const FeatureGate> feature_gates() { return kGates; }

Result<FeatureGates> FeatureGates::parse(std::string_view list) {
  FeatureGates gates;
  Mistakes mistakes;
  for (const std::string_view part : split(list, ',')) {
    const std::string_view word = trimmed(part);
    if (word.empty()) continue;
    const std::size_t equals = word.find('=');
    const std::string_view name = trimmed(word.substr(0, equals));
    const FeatureGate* gate = find_gate(name);
    if (gate == nullptr) {
      mistakes.add(quoted(name), "is no feature gate of this version");
      continue;
    }
    const std::string_view text =
        equals == std::string_view::npos ? std::string_view() : trimmed(word.substr(equals + 1));
    const std::optional<bool> value = parse_boolean(text);
    if (!value) {
      mistakes.add(name, "must be given as NAME=true or NAME=false");
    } else if (gate->is_locked && *value != gate->enabled) {
      mistakes.add(name, fmt::format("is locked to {}", gate->enabled));
    } else {
      gates.said_.insert_or_assign(std::string(name), *value);
    }
  }
  if (!mistakes.empty()) return fail(Outcome::invalid, mistakes.text());
  return gates;
}

bool FeatureGates::enabled(std::string_view name) const {
  const FeatureGate* gate = find_gate(name);
  ISTHMUS_ASSERT(gate != nullptr, "a gate that is asked for is in the table");
  if (const std::optional<bool> value = said(name)) return *value;
  std::optional<bool> all;
  if (gate->stage == GateStage::alpha) all = said(kAllAlpha);
  if (gate->stage == GateStage::beta) all = said(kAllBeta);
  return all.value_or(gate->enabled);
}

std::optional<bool> FeatureGates::said(std::string_view name) const {
  const auto found = said_.find(name);
  return found == said_.end() ? std::nullopt : std::optional(found->second);
}

std::string FeatureGates::without_effect() const {
  std::string names;
  for (const auto& [name, value] : said_) {
    if (find_gate(name)->has_effect) continue;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", name);
  }
  return names;
}

}  // namespace isthmus::app
