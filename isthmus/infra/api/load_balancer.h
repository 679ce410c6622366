// A load balancer as the infrastructure API speaks of it: what it should be and how far that is
// true.
//
// The document is openapi.yaml beside this file; these are its schemas LoadBalancer and
// LoadBalancerList as values. load_balancer_input.h is the strict side, for what is written to us.
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

inline constexpr std::size_t kListenersMax = 100;       // Of one load balancer.
inline constexpr std::size_t kTargetGroupsMax = 100;    // Likewise: at most one per listener.
inline constexpr std::size_t kTargetsMax = 5000;        // Of one group or target set.
inline constexpr std::size_t kAllowedSourcesMax = 500;  // A driver's limit is a little higher.
inline constexpr std::size_t kBalancerAddressesMax = 8;
inline constexpr std::uint32_t kWeightMax = 1000;

// 5,000 targets of 100 bytes, in each of two groups, and everything else.
inline constexpr std::size_t kBalancerBodyMax = 1024 * 1024;

enum class Protocol : std::uint8_t { tcp, udp };               // "TCP", "UDP"
enum class Affinity : std::uint8_t { none, client_ip };        // "None", "ClientIP"
enum class SourceAddress : std::uint8_t { masquerade, keep };  // "masquerade", "keep"

std::string_view to_string(Protocol protocol);
std::string_view to_string(Affinity affinity);
std::string_view to_string(SourceAddress source_address);

struct Listener {
  std::string name;  // Unique in the load balancer; by default "tcp-80".
  Protocol protocol = Protocol::tcp;
  std::uint16_t port = 0;
  std::string target_group;

  friend bool operator==(const Listener&, const Listener&) = default;
};

struct HealthCheck {
  // TCP proves only that the target's kernel has the listener: a stopped process still passes.
  enum class Protocol : std::uint8_t { tcp, http };  // "TCP", "HTTP"
  Protocol protocol = Protocol::tcp;
  std::uint16_t port = 0;  // 0: the target's own.
  std::string path = "/";  // HTTP only, else this; healthy is a complete answer of 200 to 399.
  Duration interval = std::chrono::seconds(5);
  Duration timeout = std::chrono::seconds(2);  // For the whole answer.
  std::uint32_t rise = 2;                      // So many good ones in a row make it healthy.
  std::uint32_t fall = 2;                      // So many bad ones make it unhealthy.

  friend auto operator<=>(const HealthCheck&, const HealthCheck&) = default;
};

// A target given inline.
struct Target {
  IpAddress address;
  std::uint16_t port = 0;
  std::uint32_t weight = 1;  // 0: no new flows.
  bool drain = false;        // Keeps its TCP connections and gets no new flows.

  friend bool operator==(const Target&, const Target&) = default;
};

// Either a target set of the same owner and a port, or targets inline.
struct TargetGroup {
  std::string name;
  std::string target_set;  // Empty: inline.
  std::uint16_t port = 0;  // With a target set only.
  std::vector<Target> targets;
  std::optional<HealthCheck> health_check;  // Without one every target is taken as healthy.

  friend bool operator==(const TargetGroup&, const TargetGroup&) = default;
};

// After defaulting; the comments name the defaults. Equal specs are the same wish.
struct LoadBalancerSpec {
  std::string pool;                  // Empty: where autoAssign is set, or the addresses are.
  std::vector<IpAddress> addresses;  // Asked for; empty: one per family from the pool.
  std::vector<IpFamily> families;    // Those of the addresses, else IPv4.
  std::string sharing_key;           // Equal keys of one owner may share an address.
  std::vector<Listener> listeners;
  std::vector<TargetGroup> target_groups;
  std::vector<IpPrefix> allowed_sources;  // Empty: everybody. Others are dropped silently.
  Affinity affinity = Affinity::none;
  std::optional<SourceAddress> source_address;  // Nothing: as the pool says.

  friend bool operator==(const LoadBalancerSpec&, const LoadBalancerSpec&) = default;
};

// The types of its conditions. Ready is the first three, never health.
namespace condition {
inline constexpr std::string_view accepted = "Accepted";
inline constexpr std::string_view address_allocated = "AddressAllocated";
inline constexpr std::string_view programmed = "Programmed";  // Rules, address and announcement.
inline constexpr std::string_view targets_healthy = "TargetsHealthy";
inline constexpr std::string_view return_path_missing = "ReturnPathMissing";
inline constexpr std::string_view no_local_target = "NoLocalTarget";  // Of driver announce only.
inline constexpr std::string_view ready = "Ready";
}  // namespace condition

enum class Health : std::uint8_t { unchecked, unknown, healthy, unhealthy };

std::string_view to_string(Health health);  // In lower case.

struct TargetStatus {
  std::string group;
  std::string name;  // Of a target of a set.
  IpAddress address;
  std::uint16_t port = 0;
  Health health = Health::unchecked;
  std::string reason;    // Why it is unhealthy: "connection refused".
  bool serving = false;  // New flows reach it.

  friend bool operator==(const TargetStatus&, const TargetStatus&) = default;
};

struct LoadBalancerStatus {
  std::vector<IpAddress> addresses;
  std::uint64_t observed_generation = 0;
  std::uint64_t applied_generation = 0;  // What the host holds.
  std::vector<Condition> conditions;
  std::uint32_t targets = 0;  // Of all groups, each once.
  std::uint32_t targets_healthy = 0;
  std::uint32_t targets_serving = 0;
  std::uint64_t repairs = 0;  // How often the host had lost or changed something of it.
  std::optional<WallTime> last_repair;
  std::string last_repair_reason;

  // In the answer to a GET of this one only; lists and watches go without.
  std::vector<TargetStatus> target_health;

  friend bool operator==(const LoadBalancerStatus&, const LoadBalancerStatus&) = default;
};

struct LoadBalancer {
  Metadata metadata;
  LoadBalancerSpec spec;
  LoadBalancerStatus status;

  friend bool operator==(const LoadBalancer&, const LoadBalancer&) = default;
};

// One page, like InstanceList.
struct LoadBalancerList {
  std::vector<LoadBalancer> items;  // Ordered by owner and name.
  std::uint64_t revision = 0;
  std::string continue_token;
  std::size_t not_understood = 0;

  friend bool operator==(const LoadBalancerList&, const LoadBalancerList&) = default;
};

std::string encode(const LoadBalancer& balancer);
std::string encode(const LoadBalancerList& list);

// Reads an answer of the server, with the tolerance of decode_instance: what is not known is passed
// over. lost: not JSON, not this kind, or a required member missing or ill-typed.
Result<LoadBalancer> decode_load_balancer(std::string_view json);
Result<LoadBalancerList> decode_load_balancer_list(std::string_view json);

// What a client writes: metadata without what the server owns, and the spec.
std::string encode_input(const LoadBalancer& balancer);

}  // namespace isthmus::infra::api
