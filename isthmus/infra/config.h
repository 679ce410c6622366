// The configuration of `isthmus infra --config FILE`.
//
//   listen: ["unix:/run/isthmus/infra.sock", "https://0.0.0.0:10280"]
//   tls: {certFile: /etc/isthmus/tls.crt, keyFile: /etc/isthmus/tls.key}
//   store: {sqlite: /var/lib/isthmus/infra.db}
//   inventory: /etc/isthmus/inventory.yaml
//   adminTokenFile: /etc/isthmus/admin.token
//   owners: [{name: prod, tokenFile: /etc/isthmus/prod.token}]
//   host: {name: lb1, driver: nft}
//
// Plain http is only served on loopback. Without an inventory, machines are written through the API
// only; without an admin token nothing is. The driver is nft or announce.
// Without owners the server is served on unix sockets only, whose file mode says who may ask.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "isthmus/base/mistakes.h"
#include "isthmus/net/http_server.h"

namespace isthmus::infra {

inline constexpr std::size_t kConfigBytesMax = 1024 * 1024;
inline constexpr std::size_t kOwnersMax = 1000;
inline constexpr std::size_t kListenMax = 16;

struct OwnerConfig {
  std::string name;
  std::string token_file;
};

struct TlsFiles {
  std::string certificate;
  std::string private_key;
};

struct HostConfig {
  enum class Driver { nft, announce };
  std::string name;
  Driver driver = Driver::nft;
};

struct Config {
  std::vector<net::ListenAddress> listen;
  std::optional<TlsFiles> tls;   // There when something listens on https.
  std::string sqlite;            // The store's file, or ":memory:".
  std::string inventory;         // Empty: none.
  std::string admin_token_file;  // Empty: none.
  std::vector<OwnerConfig> owners;
  std::optional<HostConfig> host;
};

// Reads the text of a configuration file. Every mistake is added, "FILE: line 3: …": unknown and
// doubled keys, wrong types, what contradicts itself, what this version does not offer. With a
// mistake, nothing of the answer may be used. The files that are named are not looked at.
Config parse_config(std::string_view text, std::string_view file, Mistakes& mistakes);

// Everything in one folder, for a demo or a first try: the unix socket infra.sock, the store
// infra.db and the inventory inventory.yaml.
Config default_config(const std::string& folder);

}  // namespace isthmus::infra
