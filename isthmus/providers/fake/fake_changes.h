// What differs between two wishes, in the words of the cloud in memory.
#pragma once

#include <vector>

#include "isthmus/cloud/load_balancer.h"

namespace isthmus::providers::fake {

std::vector<cloud::LoadBalancerPreview::Change> changes_of(const cloud::LoadBalancerSpec& before,
                                                           const cloud::LoadBalancerSpec& after);

}  // namespace isthmus::providers::fake
