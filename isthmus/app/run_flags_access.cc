// Flags that say who may ask the secure port.
#include "isthmus/app/run_flags_impl.h"

#include "isthmus/base/text.h"

namespace isthmus::app {

void add_authentication_flags(FlagTable& table, AuthenticationFlags& flags) {
  const std::string group = "Authentication flags";
  table.text("authentication-kubeconfig", flags.kubeconfig, group,
             "Path of a kubeconfig that may create TokenReviews; empty: as the pod's service "
             "account, and outside of a pod no token is accepted.");
  table.boolean("authentication-skip-lookup", flags.skip_lookup, group,
                "Do not read the client CA from the ConfigMap extension-apiserver-authentication.");
  table.boolean("authentication-tolerate-lookup-failure", flags.tolerate_lookup_failure, group,
                "Be ready even while that ConfigMap cannot be read.");
  table.duration("authentication-token-webhook-cache-ttl", flags.token_cache_ttl, group,
                 "How long the verdict about a token counts.");
  table.text("client-ca-file", flags.client_ca_file, group,
             "Path of the authorities of client certificates, in PEM; empty: those of the "
             "ConfigMap.");
}

void add_authorization_flags(FlagTable& table, AuthorizationFlags& flags) {
  const std::string group = "Authorization flags";
  table.text("authorization-kubeconfig", flags.kubeconfig, group,
             "Path of a kubeconfig that may create SubjectAccessReviews; empty: as the pod's "
             "service account.");
  table.list("authorization-always-allow-paths", flags.always_allow_paths, group,
             "Paths that everybody may ask for; one that ends in * stands for all that begin so.");
  table.duration("authorization-webhook-cache-authorized-ttl", flags.authorized_ttl, group,
                 "How long it counts that somebody may.");
  table.duration("authorization-webhook-cache-unauthorized-ttl", flags.unauthorized_ttl, group,
                 "How long it counts that somebody may not.");
}

void check_authorization_flags(const AuthorizationFlags& flags, Mistakes& mistakes) {
  for (const std::string_view part : split(flags.always_allow_paths, ',')) {
    const std::string_view path = trimmed(part);
    if (path.empty() || path.starts_with('/')) continue;
    mistakes.add("--authorization-always-allow-paths", quoted(path) + " does not begin with /");
  }
}

}  // namespace isthmus::app
