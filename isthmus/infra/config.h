// The configuration of `isthmus infra --config FILE`.
//
//   listen: ["unix:/run/isthmus/infra.sock", "https://0.0.0.0:10280"]
//   tls: {certFile: /etc/isthmus/tls.crt, keyFile: /etc/isthmus/tls.key}
//   store: {sqlite: /var/lib/isthmus/infra.db}
//   inventory: /etc/isthmus/inventory.yaml
//   adminTokenFile: /etc/isthmus/admin.token
//   owners:
//   - {name: prod, tokenFile: /etc/isthmus/prod.token, pools: [public],
//      routes: {destinations: [10.244.0.0/16, "fd00:10:244::/48"]}}
//   host: {name: lb1, driver: nft, probe: 300ms}
//   pools:
//   - {name: public, ranges: [192.0.2.0/28, "2001:db8::/120"], interface: eth0, coolDown: 5m,
//      autoAssign: true, sourceAddress: masquerade}
//
// Plain http is only served on loopback. Without an inventory, machines are written through the API
// only; without an admin token nothing is. Without owners the server is served on unix sockets
// only, whose file mode says who may ask.
//
// Without a host there are no load balancers. Its name is written to every address it answers for,
// and another name is another host, which does not answer for them. The driver is nft, or announce
// where the host is a Kubernetes node itself. Before a new address is bound, the link is asked for
// `probe` whether somebody has it already (300ms where it is not said, and from 10ms to 10s).
//
// An owner without `pools` may use all of them. Its route tables may have cluster CIDRs that lie in
// the destinations of its `routes`, and none without them. Of a pool, name and ranges are required;
// a range is a prefix or, as in "192.0.2.40-192.0.2.50", the prefixes between two addresses, and no
// address is in two of them. `interface` is for addresses that lie in no network the host is
// connected to. A released address is nobody else's for `coolDown`, at most a day. Load balancers
// that name no pool get addresses of pools with autoAssign, which is true where it is not said.
// sourceAddress is masquerade or keep.
//
// owners, adminTokenFile and pools are read again while the program runs (config_file.h).
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "isthmus/base/clock.h"
#include "isthmus/base/ip.h"
#include "isthmus/base/mistakes.h"
#include "isthmus/infra/api/pool.h"
#include "isthmus/net/http_server.h"

namespace isthmus::infra {

inline constexpr std::size_t kConfigBytesMax = 1024 * 1024;
inline constexpr std::size_t kOwnersMax = 1000;
// So that owner, name and generation of a load balancer fit into the note the kernel keeps of it.
inline constexpr std::size_t kOwnerBytesMax = 63;
inline constexpr std::size_t kListenMax = 16;
inline constexpr std::size_t kPoolsMax = 100;         // Every allocation may look at all of them.
inline constexpr std::size_t kRangesMax = 100;        // Of one pool, likewise.
inline constexpr std::size_t kDestinationsMax = 100;  // Of one owner, likewise by each table.
inline constexpr Duration kCoolDownMax = std::chrono::hours(24);
inline constexpr Duration kProbeMin = std::chrono::milliseconds(10);
inline constexpr Duration kProbeMax = std::chrono::seconds(10);

using PoolNames = std::set<std::string, std::less<>>;

struct OwnerConfig {
  std::string name;
  std::string token_file;
  std::optional<PoolNames> pools = std::nullopt;  // That it may use; nothing said: all.
  // What it may route; nothing said: nothing. In no order that means anything.
  std::optional<std::vector<IpPrefix>> destinations = std::nullopt;

  friend bool operator==(const OwnerConfig&, const OwnerConfig&) = default;
};

struct TlsFiles {
  std::string certificate;
  std::string private_key;

  friend bool operator==(const TlsFiles&, const TlsFiles&) = default;
};

struct HostConfig {
  enum class Driver { nft, announce };
  std::string name;
  Driver driver = Driver::nft;
  Duration probe = std::chrono::milliseconds(300);

  friend bool operator==(const HostConfig&, const HostConfig&) = default;
};

struct Config {
  std::vector<net::ListenAddress> listen;
  std::optional<TlsFiles> tls;   // There when something listens on https.
  std::string sqlite;            // The store's file, or ":memory:".
  std::string inventory;         // Empty: none.
  std::string admin_token_file;  // Empty: none.
  std::vector<OwnerConfig> owners;
  std::optional<HostConfig> host;
  std::vector<api::Pool> pools = {};  // In the order of the file. Only with a host.
};

// Reads the text of a configuration file. Every mistake is added, "FILE: line 3: …": unknown and
// doubled keys, wrong types, what contradicts itself, overlapping ranges. With a mistake, nothing
// of the answer may be used. The files that are named are not looked at.
Config parse_config(std::string_view text, std::string_view file, Mistakes& mistakes);

// Everything in one folder, for a demo or a first try: the unix socket infra.sock, the store
// infra.db and the inventory inventory.yaml.
Config default_config(const std::string& folder);

}  // namespace isthmus::infra
