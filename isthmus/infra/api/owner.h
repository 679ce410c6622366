// Owners, as far as they have anything: whom one can ask about.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "isthmus/base/result.h"

namespace isthmus::infra::api {

struct Owner {
  std::string name;
  std::uint64_t load_balancers = 0;
  std::uint64_t target_sets = 0;
  std::uint64_t addresses = 0;  // Held or cooling down.

  friend bool operator==(const Owner&, const Owner&) = default;
};

struct OwnerList {
  std::vector<Owner> items;  // Ordered by name.
  std::uint64_t revision = 0;
  std::size_t not_understood = 0;

  friend bool operator==(const OwnerList&, const OwnerList&) = default;
};

std::string encode(const OwnerList& list);

// As decode_load_balancer.
Result<OwnerList> decode_owner_list(std::string_view json);

}  // namespace isthmus::infra::api
