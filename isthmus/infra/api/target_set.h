// A target set: machines by name, with their addresses, that any number of load balancers of the
// same owner send to. One PUT changes it for all of them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "isthmus/base/ip.h"
#include "isthmus/base/result.h"
#include "isthmus/infra/api/object.h"

namespace isthmus::infra::api {

struct SetTarget {
  std::string name;                  // Unique in the set.
  std::vector<IpAddress> addresses;  // At most one per family.
  std::uint32_t weight = 1;
  bool drain = false;

  friend bool operator==(const SetTarget&, const SetTarget&) = default;
};

struct TargetSet {
  Metadata metadata;
  std::vector<SetTarget> targets;  // In the writer's order, which means nothing.
  std::uint64_t users = 0;         // Status: how many load balancers refer to it.

  friend bool operator==(const TargetSet&, const TargetSet&) = default;
};

struct TargetSetList {
  std::vector<TargetSet> items;  // Ordered by owner and name.
  std::uint64_t revision = 0;
  std::string continue_token;
  std::size_t not_understood = 0;

  friend bool operator==(const TargetSetList&, const TargetSetList&) = default;
};

std::string encode(const TargetSet& set);
std::string encode(const TargetSetList& list);

// As decode_load_balancer.
Result<TargetSet> decode_target_set(std::string_view json);
Result<TargetSetList> decode_target_set_list(std::string_view json);

// What a client writes.
std::string encode_input(const TargetSet& set);

}  // namespace isthmus::infra::api
