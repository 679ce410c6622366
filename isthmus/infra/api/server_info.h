// What `GET /v1` answers: which server this is and what it can do. A client asks once, before
// anything else, and refuses a protocol or providerID scheme it was not configured for.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "isthmus/base/result.h"

namespace isthmus::infra::api {

// The version of the protocol this code speaks. A server of another one is not spoken to.
inline constexpr std::string_view kProtocolVersion = "v1";

// The capabilities this version knows the names of; a server names those it has.
namespace capability {
inline constexpr std::string_view instances = "instances";
inline constexpr std::string_view instance_watch = "instances.watch";
inline constexpr std::string_view load_balancers = "loadBalancers";  // And all under /v1/owners.
inline constexpr std::string_view load_balancer_watch = "loadBalancers.watch";
inline constexpr std::string_view target_sets = "targetSets";
inline constexpr std::string_view route_tables = "routeTables";  // And in the watch of an owner.
// PUT of a load balancer takes ?preferAddresses.
inline constexpr std::string_view prefer_addresses = "loadBalancers.preferAddresses";
}  // namespace capability

struct ServerInfo {
  std::string protocol_version;
  std::string provider_name;       // "isthmus"
  std::string provider_id_scheme;  // "isthmus": a machine's providerID is scheme://uid
  std::vector<std::string> capabilities;
  std::string server_version;  // For people.
  std::string owner;           // The caller's name; empty for an administrator, or not said.

  bool has(std::string_view capability) const;

  friend bool operator==(const ServerInfo&, const ServerInfo&) = default;
};

std::string encode(const ServerInfo& info);

// Unknown members and capabilities are passed over. Lost: not JSON, or protocolVersion,
// providerName, providerIDScheme or capabilities missing or ill-typed, or an owner that is no name.
Result<ServerInfo> decode_server_info(std::string_view json);

}  // namespace isthmus::infra::api
