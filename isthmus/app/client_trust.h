// Whose word about clients of the secure port counts: the certificate authorities that issue client
// certificates, from a file (--client-ca-file) or from the ConfigMap in which every API server
// publishes its own. Both are followed while we run.
#pragma once

#include <optional>
#include <string>

#include "isthmus/base/clock.h"
#include "isthmus/base/files.h"
#include "isthmus/base/log.h"
#include "isthmus/base/metrics.h"
#include "isthmus/base/random.h"
#include "isthmus/base/result.h"
#include "isthmus/base/task.h"
#include "isthmus/kube/api/config_map.h"
#include "isthmus/kube/store.h"
#include "isthmus/kube/watcher.h"
#include "isthmus/net/client_certificates.h"

namespace isthmus::app {

// The authorities as they are now. Null: nobody is known by a certificate.
class ClientTrust {
 public:
  const net::ClientAuthorities* authorities() const {
    return authorities_ ? &*authorities_ : nullptr;
  }
  void set(std::optional<net::ClientAuthorities> authorities) {
    authorities_ = std::move(authorities);
  }

 private:
  std::optional<net::ClientAuthorities> authorities_;
};

// The error names the file.
Result<net::ClientAuthorities> load_client_ca(Files& files, const std::string& path);

// Looks every kClientCaCheckPeriod whether the file has changed, first since `seen`, which was
// taken before the authorities were loaded that `trust` has (base/file_stamp.h); a bad one is
// logged, and the old authorities stay. Runs until its scope is cancelled.
Task<Result<>> keep_client_ca_fresh(Files& files, std::string path, std::optional<FileStamp> seen,
                                    ClientTrust& trust, Logger& log);
inline constexpr Duration kClientCaCheckPeriod = std::chrono::seconds(30);

// Follows kube-system/extension-apiserver-authentication. While it is not there, or has no client
// CA, nobody is known by a certificate; one that cannot be read leaves the old authorities.
// A resource; the doors and the trust outlive it.
class PublishedClientCa final {
 public:
  static constexpr std::string_view kNamespace = "kube-system";
  static constexpr std::string_view kName = "extension-apiserver-authentication";
  static constexpr std::string_view kKey = "client-ca-file";

  PublishedClientCa(kube::ApiDoor& api, ClientTrust& trust, const Clock& clock, Random& random,
                    Metrics& metrics, Logger& log);
  PublishedClientCa(const PublishedClientCa&) = delete;
  PublishedClientCa& operator=(const PublishedClientCa&) = delete;

  // Until its scope is cancelled.
  Task<Result<>> run();

  // Why nothing is known of the ConfigMap yet; ok from the first answer on.
  Result<> check() const;

 private:
  void take(const kube::ConfigMap* published);

  ClientTrust& trust_;
  Logger& log_;
  kube::Store<kube::ConfigMap> store_;
  kube::StoreSink<kube::ConfigMap> sink_;
  kube::Watcher watcher_;
};

}  // namespace isthmus::app
