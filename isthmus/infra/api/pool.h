// A pool of addresses, as the configuration says, and the addresses that were allocated. Both are
// read in the API and changed elsewhere: a pool in the configuration, an address by the load
// balancer that holds it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "isthmus/base/clock.h"
#include "isthmus/base/ip.h"
#include "isthmus/base/result.h"
#include "isthmus/infra/api/load_balancer.h"

namespace isthmus::infra::api {

struct PoolUse {
  IpFamily family = IpFamily::v4;
  std::uint64_t total = 0;  // At most 2^53; a larger range says that.
  std::uint64_t held = 0;
  std::uint64_t cooling = 0;
  std::uint64_t free = 0;

  friend bool operator==(const PoolUse&, const PoolUse&) = default;
};

struct Pool {
  std::string name;
  std::vector<IpPrefix> ranges;
  std::string interface;  // For addresses that no connected prefix contains; empty: none.
  Duration cool_down = std::chrono::minutes(5);
  bool auto_assign = true;  // Load balancers that name no pool may get its addresses.
  SourceAddress source_address = SourceAddress::masquerade;
  std::uint64_t revision = 0;
  std::vector<PoolUse> use;  // Status: one per family; none in events.

  friend bool operator==(const Pool&, const Pool&) = default;
};

struct PoolList {
  std::vector<Pool> items;  // Ordered by name.
  std::uint64_t revision = 0;
  std::size_t not_understood = 0;

  friend bool operator==(const PoolList&, const PoolList&) = default;
};

// An address that somebody holds or held a moment ago.
struct AllocatedAddress {
  enum class State : std::uint8_t {
    held,
    cooling,  // Released; nobody but its last holder gets it until `free_at`.
    orphan,   // Found in the kernel with our mark, of a load balancer that no store knows.
  };
  IpAddress address;
  std::string pool;
  State state = State::held;
  std::string owner;
  std::vector<std::string> holders;  // Names of load balancers; more than one share it.
  std::string sharing_key;
  std::string host;         // Which host answers for it.
  std::uint64_t epoch = 0;  // Rises whenever the holder or the host changes.
  std::optional<WallTime> free_at;
  std::uint64_t revision = 0;

  friend bool operator==(const AllocatedAddress&, const AllocatedAddress&) = default;
};

std::string_view to_string(AllocatedAddress::State state);

struct AddressList {
  std::vector<AllocatedAddress> items;  // Ordered by family and address.
  std::uint64_t revision = 0;
  std::string continue_token;
  std::size_t not_understood = 0;

  friend bool operator==(const AddressList&, const AddressList&) = default;
};

std::string encode(const Pool& pool);
std::string encode(const PoolList& list);
std::string encode(const AllocatedAddress& address);
std::string encode(const AddressList& list);

// As decode_load_balancer.
Result<Pool> decode_pool(std::string_view json);
Result<PoolList> decode_pool_list(std::string_view json);
Result<AllocatedAddress> decode_allocated_address(std::string_view json);
Result<AddressList> decode_address_list(std::string_view json);

}  // namespace isthmus::infra::api
