// What people are told about a Service and its load balancer, apart from what the plan has to say.
#pragma once

#include <string>
#include <vector>

#include "isthmus/cloud/load_balancer.h"
#include "isthmus/controllers/notice.h"

namespace isthmus::controllers {

// Upstream's reasons, by which people filter.
inline constexpr std::string_view kEnsuringReason = "EnsuringLoadBalancer";
inline constexpr std::string_view kEnsuredReason = "EnsuredLoadBalancer";
inline constexpr std::string_view kUpdatedReason = "UpdatedLoadBalancer";
inline constexpr std::string_view kDeletingReason = "DeletingLoadBalancer";
inline constexpr std::string_view kDeletedReason = "DeletedLoadBalancer";
inline constexpr std::string_view kSyncFailedReason = "SyncLoadBalancerFailed";
inline constexpr std::string_view kDeleteFailedReason = "DeleteLoadBalancerFailed";
inline constexpr std::string_view kNoNodesReason = "UnAvailableLoadBalancer";

// Ours.
inline constexpr std::string_view kRepairedReason = "LoadBalancerRepaired";
inline constexpr std::string_view kRecreatedReason = "LoadBalancerRecreated";
inline constexpr std::string_view kChangedReason = "LoadBalancerChanged";
inline constexpr std::string_view kContestedReason = "LoadBalancerContested";
inline constexpr std::string_view kStatusContestedReason = "LoadBalancerStatusContested";
inline constexpr std::string_view kKubeletReason = "NodeHealthFromKubelet";

// What the cloud says is so with it now; one without a word for it goes by LoadBalancerNotice.
std::vector<Notice> facts_of(const cloud::LoadBalancerState& state);

// That an ensure or a release has failed. An outage is one story, although its calls may be lost,
// late or turned away in turns.
Notice sync_failed(const Error& error);
Notice delete_failed(const Error& error);

// The first part that the cloud did not take, as the error of the whole; there must be one.
Error error_of(const std::vector<cloud::LoadBalancerState::Problem>& problems);

Notice no_nodes();

// That it is left to somebody else, who keeps changing it.
Notice contested_balancer();

// "192.0.2.1, 2001:db8::1".
std::string text_of(const std::vector<IpAddress>& addresses);

}  // namespace isthmus::controllers
