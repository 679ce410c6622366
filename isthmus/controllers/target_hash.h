// Sets of targets by a hash, for whoever only has to know whether two are the same: there may be
// thousands of machines in one.
#pragma once

#include <string>
#include <vector>

#include "isthmus/cloud/load_balancer.h"

namespace isthmus::controllers {

// Equal hashes are equal lists: the same targets in the same order. Hexadecimal, 32 digits.
std::string hash_of(const std::vector<cloud::Target>& targets);

}  // namespace isthmus::controllers
