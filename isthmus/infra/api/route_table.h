// A route table as the infrastructure API speaks of it: which networks lie behind which machines,
// and how far the kernel of the backend's host sends packets there.
//
// The document is openapi.yaml beside this file; these are its schemas RouteTable and
// RouteTableList as values. route_table_input.h is the strict side, for what is written to us.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "isthmus/base/ip.h"
#include "isthmus/base/result.h"
#include "isthmus/infra/api/object.h"

namespace isthmus::infra::api {

inline constexpr std::size_t kRoutesMax = 5000;       // Of one table: one or two for each machine.
inline constexpr std::size_t kClusterCidrsMax = 16;   // Likewise: each is compared with all others.
inline constexpr std::size_t kOrphanRoutesMax = 500;  // Told at a time.

// 5,000 routes of 195 bytes, with the longest uids and IPv6 addresses, and everything else.
inline constexpr std::size_t kRouteTableBodyMax = 1024 * 1024;

// Packets to the destination go to a machine.
struct RouteEntry {
  IpPrefix destination;
  std::string instance;               // Its uid. Empty: not said, and next_hop is.
  std::optional<IpAddress> next_hop;  // Nothing: the machine's first internal address.

  friend bool operator==(const RouteEntry&, const RouteEntry&) = default;
};

struct RouteTableSpec {
  std::vector<IpPrefix> cluster_cidrs;  // All destinations lie in these, which are apart.
  std::vector<RouteEntry> routes;       // In the writer's order, which means nothing.

  friend bool operator==(const RouteTableSpec&, const RouteTableSpec&) = default;
};

enum class RouteState : std::uint8_t {
  pending,   // Not yet, for a reason of ours, the machine's or the host's.
  applied,   // The kernel has it.
  conflict,  // Somebody else's route or network is in its place.
};

std::string_view to_string(RouteState state);

struct RouteStatus {
  IpPrefix destination;
  RouteState state = RouteState::pending;
  std::string reason;   // Of one that is not applied; programs may compare it.
  std::string message;  // Likewise, for people.

  friend bool operator==(const RouteStatus&, const RouteStatus&) = default;
};

// A route that the host holds in the cluster CIDRs of a table, that may be needed, and of which
// nobody knows: the store was lost, say. It stays until the table names it, and no longer does.
struct OrphanRoute {
  IpPrefix destination;
  std::optional<IpAddress> next_hop;  // Nothing: by others' hands it has a form we never make.

  friend bool operator==(const OrphanRoute&, const OrphanRoute&) = default;
};

struct RouteTableStatus {
  std::uint64_t observed_generation = 0;  // That everything here is about.
  std::uint64_t applied_generation = 0;   // All that could be done for it was, and more is no wish.
  std::vector<Condition> conditions;      // Accepted, Programmed, Ready.
  std::vector<RouteStatus> routes;        // One for each route of the spec, in its order.
  std::vector<OrphanRoute> orphans;       // By destination; of many, those that can be named.

  friend bool operator==(const RouteTableStatus&, const RouteTableStatus&) = default;
};

struct RouteTable {
  Metadata metadata;
  RouteTableSpec spec;
  RouteTableStatus status;

  friend bool operator==(const RouteTable&, const RouteTable&) = default;
};

struct RouteTableList {
  std::vector<RouteTable> items;  // Ordered by owner and name.
  std::uint64_t revision = 0;
  std::string continue_token;
  std::size_t not_understood = 0;

  friend bool operator==(const RouteTableList&, const RouteTableList&) = default;
};

std::string encode(const RouteTable& table);
std::string encode(const RouteTableList& list);

// As decode_load_balancer; a state that we do not know is pending.
Result<RouteTable> decode_route_table(std::string_view json);
Result<RouteTableList> decode_route_table_list(std::string_view json);

// What a client writes.
std::string encode_input(const RouteTable& table);

}  // namespace isthmus::infra::api
