// All load balancers of an owner, read page by page.
#pragma once

#include <cstdint>
#include <string>

#include "isthmus/cloud/load_balancer.h"
#include "isthmus/providers/infra/objects_client.h"

namespace isthmus::providers::infra {

struct BalancerListing {
  cloud::Listing<cloud::LoadBalancerState> listing;
  std::uint64_t revision = 0;  // That all pages were read at, where the listing is complete.
};

// Partial: pages of different revisions, a load balancer that is on two of them or of another
// owner, one that could not be understood. Errors are those of ObjectsClient::balancers; lost also
// for a list without end. The client outlives the task.
Task<Result<BalancerListing>> read_balancers(ObjectsClient& client, std::string owner);

}  // namespace isthmus::providers::infra
