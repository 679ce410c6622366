// Everything that the secure port needs to know before it opens: where it listens, with which
// certificate and TLS, and by whom its callers are looked up. Files are read and checked here, so
// that what is wrong with them is reported with everything else.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "isthmus/app/authorization.h"
#include "isthmus/app/certificate_keeper.h"
#include "isthmus/app/environment.h"
#include "isthmus/app/run_options.h"
#include "isthmus/base/clock.h"
#include "isthmus/base/files.h"
#include "isthmus/base/mistakes.h"
#include "isthmus/kube/config.h"
#include "isthmus/net/client_certificates.h"
#include "isthmus/net/http_server.h"
#include "isthmus/net/tls_policy.h"

namespace isthmus::app {

struct ServingSetup {
  net::ListenAddress address;
  ServingCertificate certificate;
  net::TlsPolicy policy;

  // Who callers are.
  std::optional<kube::ClusterConfig>
      authentication;  // Where tokens are reviewed; nullopt: nowhere.
  Duration token_ttl{};
  std::string client_ca_file;  // Empty: the authorities are looked up, if `looks_up_client_ca`.
  std::optional<FileStamp> client_ca_stamp;         // Of the file when `client_ca` was loaded.
  std::optional<net::ClientAuthorities> client_ca;  // Of the file.
  bool looks_up_client_ca = false;
  bool needs_client_ca = false;  // Not ready before they have been looked up.

  // What they may.
  std::optional<kube::ClusterConfig> authorization;  // Where access is reviewed; nullopt: nowhere.
  AuthorizationOptions rules;

  // Whether there is any way to find out who a caller is or what he may do.
  bool looks_callers_up() const {
    return authentication || authorization || !client_ca_file.empty();
  }
};

// The setup, or nullopt with at least one mistake added. Not for --secure-port=0.
std::optional<ServingSetup> prepare_serving(Files& files, const RunOptions& options,
                                            const Environment& environment, WallTime now,
                                            Mistakes& mistakes);

}  // namespace isthmus::app
