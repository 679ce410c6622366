// Where the API server is and who we are to it: from a kubeconfig file, or from what every pod
// finds in its container.
//
// Loading reads every file that the configuration names, so a mistake is reported where its name
// is known, and all mistakes of one kubeconfig together, each with its line and field:
//
//   /etc/isthmus/kubeconfig: line 6: clusters[0].cluster.server: is missing
//
// Refused, always by name and with the reason: insecure-skip-tls-verify, exec and auth-provider
// plugins, user name and password, impersonation, plain http beyond this host, unknown fields of
// the chosen cluster and user. Entries that the chosen context does not name are not looked into.
#pragma once

#include <string>
#include <string_view>

#include "isthmus/base/files.h"
#include "isthmus/base/result.h"
#include "isthmus/base/secret.h"
#include "isthmus/net/tls.h"

namespace isthmus::kube {

// A value. Everything in it was read and checked when it was made.
struct ClusterConfig {
  std::string server = {};  // "https://10.0.0.1:6443", perhaps with a path; no slash at the end.
  net::ClientTls tls = {};  // For https. Without a CA the system's bundle counts.
  std::string proxy = {};   // Empty: as the environment says.
  Secret token = {};        // Empty: none, or one that changes (token_file).
  std::string token_file = {};  // Counts before `token`, and is read again while we run (tokens.h).
  std::string name_space = {};  // Of the context or the pod; empty where none is named.
};

// The URL of an API server as ClusterConfig keeps it. invalid says what is wrong with it: the
// scheme (https, or http on this very machine), the host, the port, a password in it.
Result<std::string> parse_server(std::string_view url);

// "10.0.0.1:6443": the server without its scheme and path, as Kubernetes' clients label their
// metrics.
std::string host_of(const ClusterConfig& config);

struct KubeconfigChoice {
  std::string context = {};  // Empty: the file's current-context.
  std::string server = {};   // Not empty: counts instead of the cluster's (upstream's --master).
};

// Reads a kubeconfig (kind Config of v1; https://kubernetes.io/docs/concepts/configuration/
// organize-cluster-access-kubeconfig/). Relative file names in it start at its own directory. Where
// a field and its "-data" twin are both given, the data counts; of token and tokenFile the file
// (both as client-go does).
// invalid: the mistakes, one per line. absent, denied, lost: the kubeconfig itself cannot be read.
Result<ClusterConfig> load_kubeconfig(Files& files, const std::string& path,
                                      const KubeconfigChoice& choice = {});

// What Kubernetes puts into the environment of every container.
struct InClusterEnvironment {
  std::string host = {};  // KUBERNETES_SERVICE_HOST
  std::string port = {};  // KUBERNETES_SERVICE_PORT
};

// The service account that is mounted into every pod by default.
inline constexpr std::string_view kServiceAccountDirectory =
    "/var/run/secrets/kubernetes.io/serviceaccount";

// The configuration of a pod: the environment, and token, ca.crt and namespace of its service
// account. The namespace may be missing. invalid: everything that is missing or wrong, together.
Result<ClusterConfig> load_in_cluster(Files& files, const InClusterEnvironment& environment);

}  // namespace isthmus::kube
