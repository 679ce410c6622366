// Load balancers and target sets in both languages: plain functions between cloud/ and the
// infrastructure API.
#pragma once

#include <vector>

#include "isthmus/base/ip.h"
#include "isthmus/cloud/load_balancer.h"
#include "isthmus/infra/api/dry_run.h"
#include "isthmus/infra/api/load_balancer.h"
#include "isthmus/infra/api/target_set.h"

namespace isthmus::providers::infra {

// What is written. One target group stands for each port that listeners send to: of the target set,
// or of every target's addresses of the load balancer's families, each once. Preferred addresses
// are no part of it.
isthmus::infra::api::LoadBalancer to_api(const cloud::LoadBalancerSpec& spec);
isthmus::infra::api::TargetSet to_api(const cloud::TargetSetSpec& spec);

// The addresses to ask for as preferred: those of the families, unless any are requested.
std::vector<IpAddress> preferences(const cloud::LoadBalancerSpec& spec);

// What is answered. Settled is what is Ready for the present generation. Facts are the conditions
// that are not as they should be and that people can do something about, or have to wait for: not
// those of work that is under way, nor that some targets are unhealthy while others are not.
cloud::LoadBalancerState to_cloud(isthmus::infra::api::LoadBalancer balancer);

// The same of one that was asked for alone, with what is unfinished and sick of it.
cloud::LoadBalancerState to_cloud_in_detail(isthmus::infra::api::LoadBalancer balancer);

// lost: what the server would do is no effect of an ensure.
Result<cloud::LoadBalancerPreview> to_cloud(isthmus::infra::api::DryRun plan);

}  // namespace isthmus::providers::infra
