// TLS as values: whom to trust and who we are. Files are read by the caller, so that a bad one is
// reported where its name is known.
#pragma once

#include <string>
#include <vector>

#include "isthmus/base/clock.h"
#include "isthmus/base/result.h"
#include "isthmus/base/secret.h"

namespace isthmus::net {

// A client's side. There is no way to skip verification.
struct ClientTls {
  std::string ca_pem = {};           // One or more certificates; empty means the system's bundle.
  std::string certificate_pem = {};  // Empty: we do not identify ourselves by certificate.
  Secret private_key_pem = {};

  // Checked instead of the URL's host, and sent as SNI; empty: the host.
  std::string server_name = {};
};

// A server's side.
struct ServerTls {
  std::string certificate_pem = {};  // The chain, our own certificate first.
  Secret private_key_pem = {};
};

// invalid, with a sentence naming the part, when a PEM text holds no certificate, the key does not
// fit the certificate, OpenSSL rejects either, or the server name is neither a DNS name nor an IP
// address.
Result<> check(const ClientTls& tls);
Result<> check(const ServerTls& tls);

// A key pair made on the spot for serving without files: ECDSA P-256, valid from an hour before
// `now` for one year, for the given DNS names and IP addresses.
Result<ServerTls> make_self_signed(const std::string& common_name,
                                   const std::vector<std::string>& names, WallTime now);

}  // namespace isthmus::net
