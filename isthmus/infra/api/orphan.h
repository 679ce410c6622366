// An orphan: a load balancer that the host holds and the store does not know, for example because
// an old copy of the store was restored.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "isthmus/base/ip.h"
#include "isthmus/base/result.h"

namespace isthmus::infra::api {

struct Orphan {
  std::string owner;
  std::string name;
  std::uint64_t generation = 0;  // As the host holds it.
  std::vector<IpAddress> addresses;
  bool abandoned = false;  // Given up by an administrator; the host removes it.

  friend bool operator==(const Orphan&, const Orphan&) = default;
};

struct OrphanList {
  std::vector<Orphan> items;   // Ordered by owner and name.
  std::uint64_t revision = 0;  // Of the store at the same time.
  std::size_t not_understood = 0;

  friend bool operator==(const OrphanList&, const OrphanList&) = default;
};

std::string encode(const Orphan& orphan);
std::string encode(const OrphanList& list);

// As decode_load_balancer.
Result<Orphan> decode_orphan(std::string_view json);
Result<OrphanList> decode_orphan_list(std::string_view json);

}  // namespace isthmus::infra::api
