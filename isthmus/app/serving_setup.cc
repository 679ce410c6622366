#include "isthmus/app/serving_setup.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "isthmus/app/client_trust.h"
#include "isthmus/app/run_flags_impl.h"
#include "isthmus/base/file_stamp.h"
#include "isthmus/base/text.h"

namespace isthmus::app {
namespace {

// The files of the pair in --cert-dir.
constexpr std::string_view kPairName = "cloud-controller-manager";

// Takes the value, or adds the error's lines as mistakes.
template <class T>
std::optional<T> take(Result<T> result, std::string_view where, Mistakes& mistakes) {
  if (result) return std::move(*result);
  mistakes.add(where, result.error().message);
  return std::nullopt;
}

bool exists(Files& files, const std::string& path) {
  return files.stamp(path).outcome() != Outcome::absent;
}

// The pair in that directory, or a new one that is to be written there.
std::optional<ServingPair> pair_in(const std::string& directory, Files& files, WallTime now,
                                   ServingCertificate& certificate, Mistakes& mistakes) {
  certificate.is_made_there = true;
  certificate.files = {fmt::format("{}/{}.crt", directory, kPairName),
                       fmt::format("{}/{}.key", directory, kPairName)};
  auto found = take(find_pair(files, certificate.files), "--cert-dir", mistakes);
  if (!found) return std::nullopt;
  if (*found) return std::move(**found);
  return take(new_pair(certificate.names, now), "--cert-dir", mistakes);
}

std::optional<ServingPair> first_pair(const ServingFlags& flags, Files& files, WallTime now,
                                      ServingCertificate& certificate, Mistakes& mistakes) {
  if (flags.tls.cert_file.empty() && !flags.cert_dir.empty()) {
    return pair_in(flags.cert_dir, files, now, certificate, mistakes);
  }
  certificate.files = {flags.tls.cert_file, flags.tls.private_key_file};
  return take(certificate.files.empty() ? new_pair(certificate.names, now)
                                        : load_pair(files, certificate.files),
              "--tls-cert-file, --tls-private-key-file", mistakes);
}

// The cluster in which callers are looked up: of a kubeconfig, or the one that we run in.
std::optional<kube::ClusterConfig> delegate(std::string_view flag, const std::string& kubeconfig,
                                            Files& files, const Environment& environment,
                                            Mistakes& mistakes) {
  if (!kubeconfig.empty()) return take(kube::load_kubeconfig(files, kubeconfig), flag, mistakes);
  if (environment.in_cluster.host.empty()) return std::nullopt;
  // A pod without a service account has nobody to ask, and that is no mistake. One that is there
  // and cannot be used is: callers would not be looked up for as long as we run.
  if (!exists(files, std::string(kube::kServiceAccountDirectory) + "/token")) return std::nullopt;
  return take(kube::load_in_cluster(files, environment.in_cluster),
              fmt::format("{} is not given", flag), mistakes);
}

void prepare_authentication(const AuthenticationFlags& flags, Files& files,
                            const Environment& environment, ServingSetup& setup,
                            Mistakes& mistakes) {
  setup.authentication =
      delegate("--authentication-kubeconfig", flags.kubeconfig, files, environment, mistakes);
  setup.token_ttl = flags.token_cache_ttl;
  setup.client_ca_file = flags.client_ca_file;
  if (!flags.client_ca_file.empty()) {
    setup.client_ca_stamp = stamp_of(files, flags.client_ca_file);
    setup.client_ca =
        take(load_client_ca(files, flags.client_ca_file), "--client-ca-file", mistakes);
  } else {
    setup.looks_up_client_ca = setup.authentication && !flags.skip_lookup;
    setup.needs_client_ca = setup.looks_up_client_ca && !flags.tolerate_lookup_failure;
  }
  setup.policy.asks_for_certificate = !flags.client_ca_file.empty() || setup.looks_up_client_ca;
}

void prepare_authorization(const AuthorizationFlags& flags, Files& files,
                           const Environment& environment, ServingSetup& setup,
                           Mistakes& mistakes) {
  setup.authorization =
      delegate("--authorization-kubeconfig", flags.kubeconfig, files, environment, mistakes);
  setup.rules = {.always_allow_paths = {},
                 .authorized_ttl = flags.authorized_ttl,
                 .unauthorized_ttl = flags.unauthorized_ttl};
  for (const std::string_view path : split(flags.always_allow_paths, ',')) {
    if (!trimmed(path).empty()) setup.rules.always_allow_paths.emplace_back(trimmed(path));
  }
}

}  // namespace

std::optional<ServingSetup> prepare_serving(Files& files, const RunOptions& options,
                                            const Environment& environment, WallTime now,
                                            Mistakes& mistakes) {
  ServingSetup setup;
  setup.certificate.names = {"localhost", "127.0.0.1", "::1", environment.host_name};
  auto pair = first_pair(options.serving, files, now, setup.certificate, mistakes);
  setup.policy = tls_policy(options.serving);
  prepare_authentication(options.authentication, files, environment, setup, mistakes);
  prepare_authorization(options.authorization, files, environment, setup, mistakes);
  if (!mistakes.empty() || !pair) return std::nullopt;
  setup.address = listen_address(options.serving);
  setup.certificate.pair = std::move(*pair);
  return setup;
}

}  // namespace isthmus::app
