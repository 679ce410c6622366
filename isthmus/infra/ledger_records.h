// What lies in the store for load balancers, target sets, pools, addresses and route tables, and
// under which keys; and all of it together as one snapshot.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "isthmus/base/clock.h"
#include "isthmus/base/ip.h"
#include "isthmus/base/result.h"
#include "isthmus/infra/api/load_balancer.h"
#include "isthmus/infra/api/pool.h"
#include "isthmus/infra/api/route_table.h"
#include "isthmus/infra/api/target_set.h"
#include "isthmus/infra/record_map.h"
#include "isthmus/infra/store/store.h"

namespace isthmus::infra {

inline constexpr std::string_view kBalancerPrefix = "loadbalancers/";         // OWNER/NAME
inline constexpr std::string_view kStatusPrefix = "loadbalancer-status/";     // OWNER/NAME
inline constexpr std::string_view kTargetSetPrefix = "targetsets/";           // OWNER/NAME
inline constexpr std::string_view kPoolPrefix = "pools/";                     // NAME
inline constexpr std::string_view kAddressPrefix = "addresses/";              // ADDRESS
inline constexpr std::string_view kRouteTablePrefix = "routetables/";         // OWNER/NAME
inline constexpr std::string_view kRouteStatusPrefix = "routetable-status/";  // OWNER/NAME

// Rewritten by every change of what should be (everything above but statuses), which is conditional
// on it: what one change was planned from is what stands when it is made.
inline constexpr std::string_view kLedgerLock = "ledger-lock";

// Whose it is and what it is called.
struct ObjectName {
  std::string owner;
  std::string name;

  friend auto operator<=>(const ObjectName&, const ObjectName&) = default;
};

std::string to_string(const ObjectName& name);  // "prod/web"

// The lowest and the highest address of all inline targets, so that who looks for an address passes
// the others over. Nothing: not known. It follows from the targets, and so makes no two records
// different.
struct TargetSpan {
  std::optional<std::pair<IpAddress, IpAddress>> ends;

  friend bool operator==(const TargetSpan&, const TargetSpan&) { return true; }
};

// The life of a load balancer: it stands; its deletion is requested and the host still holds it; it
// is deleted, and the record stays as a tombstone so that a physical removal always has a record
// to come from, its generations go on, and whoever watches is told.
struct BalancerRecord {
  api::Metadata metadata;  // Its revision is that of this record.
  api::LoadBalancerSpec spec;
  std::vector<IpAddress> addresses;  // That it holds, each with an AddressRecord.
  std::optional<WallTime> deleted_at;
  TargetSpan target_span = {};  // Known of those that were read from the store.

  bool is_leaving() const { return metadata.deletion_requested_at && !deleted_at; }
  bool is_tombstone() const { return deleted_at.has_value(); }

  friend bool operator==(const BalancerRecord&, const BalancerRecord&) = default;
};

struct TargetSetRecord {
  api::TargetSet set;                  // Its `users` mean nothing here.
  std::optional<WallTime> deleted_at;  // A tombstone, so that whoever watches is told.

  friend bool operator==(const TargetSetRecord&, const TargetSetRecord&) = default;
};

struct PoolRecord {
  api::Pool pool;        // Its `use` means nothing here.
  bool removed = false;  // Taken out of the configuration; stays for whoever watches.

  friend bool operator==(const PoolRecord&, const PoolRecord&) = default;
};

struct AddressRecord {
  IpAddress address;
  std::string pool;
  std::string owner;                 // Also while it cools down: of its last holder.
  std::vector<std::string> holders;  // Names, sorted. Empty: it cools down.
  std::string last_holder;           // The name that may have it back while it cools down.
  std::string sharing_key;
  std::string host;
  std::uint64_t epoch = 1;
  std::optional<WallTime> free_at;  // While it cools down.
  Revision revision = 0;

  bool is_cooling(WallTime now) const { return holders.empty() && free_at && now < *free_at; }

  friend bool operator==(const AddressRecord&, const AddressRecord&) = default;
};

struct StatusRecord {
  api::LoadBalancerStatus status;
  Revision revision = 0;

  friend bool operator==(const StatusRecord&, const StatusRecord&) = default;
};

// Lives as a BalancerRecord does: until the kernel has no route of it left, a table whose deletion
// is requested stands.
struct RouteTableRecord {
  api::Metadata metadata;  // Its revision is that of this record.
  api::RouteTableSpec spec;
  // Destinations that earlier generations named and this one does not, in their order: the host may
  // hold their routes until this one is applied.
  std::vector<IpPrefix> dropped;
  std::optional<WallTime> deleted_at;

  bool is_leaving() const { return metadata.deletion_requested_at && !deleted_at; }
  bool is_tombstone() const { return deleted_at.has_value(); }

  friend bool operator==(const RouteTableRecord&, const RouteTableRecord&) = default;
};

struct RouteStatusRecord {
  api::RouteTableStatus status;  // Of its routes only those that are not applied.
  Revision revision = 0;

  friend bool operator==(const RouteStatusRecord&, const RouteStatusRecord&) = default;
};

std::string key_of(std::string_view prefix, const ObjectName& name);
std::string pool_key(std::string_view name);
std::string address_key(const IpAddress& address);

// The values under the keys; the revision is the store's to say. Those of load balancers and route
// tables and their statuses are in balancer_codec.h and route_table_codec.h.
std::string encode(const TargetSetRecord& record);
std::string encode(const PoolRecord& record);
std::string encode(const AddressRecord& record);

// lost: not what encode writes, which is damage, or what a newer version of this program wrote. It
// is refused rather than passed over, because the next write would drop what is not understood.
Result<TargetSetRecord> decode_target_set_record(std::string_view value, Revision revision);
Result<PoolRecord> decode_pool_record(std::string_view value, Revision revision);
Result<AddressRecord> decode_address_record(std::string_view value, Revision revision);

// Everything at one revision of the store, tombstones and removed pools too.
struct LedgerSnapshot {
  Revision revision = 0;
  Revision lock = 0;  // Of kLedgerLock: what should be last changed here.
  RecordMap<ObjectName, BalancerRecord> balancers;
  RecordMap<ObjectName, TargetSetRecord> target_sets;
  RecordMap<std::string, PoolRecord> pools;
  RecordMap<IpAddress, AddressRecord> addresses;
  RecordMap<ObjectName, StatusRecord> statuses;
  RecordMap<ObjectName, RouteTableRecord> route_tables;
  RecordMap<ObjectName, RouteStatusRecord> route_statuses;

  // nullptr where there is none, or only a tombstone. An address may be one that cools down.
  const BalancerRecord* balancer(const ObjectName& name) const;
  const TargetSetRecord* target_set(const ObjectName& name) const;
  const PoolRecord* pool(std::string_view name) const;
  const AddressRecord* address(const IpAddress& address) const;
  const StatusRecord* status(const ObjectName& name) const;
  const RouteTableRecord* route_table(const ObjectName& name) const;
  const RouteStatusRecord* route_status(const ObjectName& name) const;

  // How long an address of the pool cools down, also where the pool is gone.
  Duration cool_down(std::string_view pool) const;

  // The load balancers that refer to the set and are not tombstones, by name.
  std::vector<ObjectName> users_of(const ObjectName& target_set) const;
};

}  // namespace isthmus::infra
