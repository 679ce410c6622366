#include "isthmus/app/run_flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "isthmus/app/run_options.h"

namespace isthmus::app {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

RunOptions good_options() {
  RunOptions options;
  options.generic.cloud_provider = "isthmus";
  return options;
}

// All flags of k8s.io/cloud-provider v0.37.2 with the JSON log format linked in, the hidden ones
// too.
constexpr std::string_view kUpstream[] = {
    "allocate-node-cidrs",
    "allow-untagged-cloud",
    "authentication-kubeconfig",
    "authentication-skip-lookup",
    "authentication-token-webhook-cache-ttl",
    "authentication-tolerate-lookup-failure",
    "authorization-always-allow-paths",
    "authorization-kubeconfig",
    "authorization-webhook-cache-authorized-ttl",
    "authorization-webhook-cache-unauthorized-ttl",
    "bind-address",
    "cert-dir",
    "cidr-allocator-type",
    "client-ca-file",
    "cloud-config",
    "cloud-provider",
    "cluster-cidr",
    "cluster-name",
    "concurrent-node-lifecycle-syncs",
    "concurrent-node-status-updates",
    "concurrent-node-syncs",
    "concurrent-service-syncs",
    "configure-cloud-routes",
    "contention-profiling",
    "controller-start-interval",
    "controllers",
    "disable-http2-serving",
    "enable-leader-migration",
    "external-cloud-volume-plugin",
    "feature-gates",
    "http2-max-streams-per-connection",
    "kube-api-burst",
    "kube-api-content-type",
    "kube-api-qps",
    "kubeconfig",
    "leader-elect",
    "leader-elect-lease-duration",
    "leader-elect-renew-deadline",
    "leader-elect-resource-lock",
    "leader-elect-resource-name",
    "leader-elect-resource-namespace",
    "leader-elect-retry-period",
    "leader-migration-config",
    "log-flush-frequency",
    "log-json-info-buffer-size",
    "log-json-split-stream",
    "log-text-info-buffer-size",
    "log-text-split-stream",
    "logging-format",
    "master",
    "min-resync-period",
    "node-monitor-period",
    "node-status-update-frequency",
    "node-sync-period",
    "permit-address-sharing",
    "permit-port-sharing",
    "profiling",
    "requestheader-allowed-names",
    "requestheader-client-ca-file",
    "requestheader-extra-headers-prefix",
    "requestheader-group-headers",
    "requestheader-uid-headers",
    "requestheader-username-headers",
    "route-reconciliation-period",
    "secure-port",
    "tls-cert-file",
    "tls-cipher-suites",
    "tls-curve-preferences",
    "tls-min-version",
    "tls-private-key-file",
    "tls-sni-cert-key",
    "use-service-account-credentials",
    "v",
    "version",
    "vmodule",
    "webhook-bind-address",
    "webhook-cert-dir",
    "webhook-disable-http2-serving",
    "webhook-secure-port",
    "webhook-tls-cert-file",
    "webhook-tls-cipher-suites",
    "webhook-tls-curve-preferences",
    "webhook-tls-min-version",
    "webhook-tls-private-key-file",
    "webhook-tls-sni-cert-key",
    "webhooks",
};

TEST(run_flags, every_flag_of_upstreams_is_known) {
  RunOptions options;
  const FlagTable table = run_flags(options);
  for (const std::string_view name : kUpstream) EXPECT_NE(table.find(name), nullptr) << name;
}

TEST(run_flags, no_flag_is_there_twice_or_without_help) {
  RunOptions options;
  const FlagTable table = run_flags(options);
  std::set<std::string> names;
  for (const Flag& flag : table.flags()) {
    EXPECT_TRUE(names.insert(flag.name).second) << flag.name;
    EXPECT_THAT(flag.help, testing::EndsWith(".")) << flag.name;
    EXPECT_NE(flag.group, "") << flag.name;
  }
}

std::vector<std::string> mistakes_of(const std::vector<std::string>& arguments) {
  RunOptions options = good_options();
  ParsedFlags parsed = run_flags(options).parse(arguments);
  find_contradictions(options, parsed.mistakes);
  return parsed.mistakes.list();
}

TEST(run_flags, what_means_nothing_here_is_taken_and_told) {
  RunOptions options = good_options();
  const FlagTable table = run_flags(options);
  ParsedFlags parsed = table.parse(
      {"--allocate-node-cidrs=true", "--cidr-allocator-type=CloudAllocator",
       "--min-resync-period=1h", "--kube-api-content-type=application/vnd.kubernetes.protobuf",
       "--allow_untagged_cloud", "--node-sync-period=10s", "--external-cloud-volume-plugin=aws",
       "--concurrent-node-status-updates=3", "--webhooks=*", "--webhook-secure-port=0",
       "--log-flush-frequency=1s", "--vmodule=node=4,service*=2", "--cluster-name=prod"});
  find_contradictions(options, parsed.mistakes);
  EXPECT_THAT(parsed.mistakes.list(), IsEmpty());
  const std::string told = table.without_effect(parsed);
  EXPECT_THAT(told, HasSubstr("--allocate-node-cidrs"));
  EXPECT_THAT(told, HasSubstr("--vmodule"));
  EXPECT_THAT(told, testing::Not(HasSubstr("--cluster-name")));
}

TEST(run_flags, what_means_nothing_here_is_judged_all_the_same) {
  EXPECT_THAT(mistakes_of({"--min-resync-period=-1s", "--kube-api-content-type=text/html",
                           "--concurrent-node-status-updates=-1", "--webhooks=a,-b,*",
                           "--webhook-secure-port=10258", "--webhook-bind-address=nowhere",
                           "--vmodule=node"}),
              testing::UnorderedElementsAre(
                  HasSubstr("--min-resync-period"), HasSubstr("--kube-api-content-type"),
                  HasSubstr("--concurrent-node-status-updates"), HasSubstr("--webhooks: \"a\""),
                  HasSubstr("--webhooks: \"-b\""), HasSubstr("--webhook-secure-port: must differ"),
                  HasSubstr("--webhook-bind-address"), HasSubstr("--vmodule")));
}

TEST(run_flags, what_belongs_to_a_port_is_judged_whether_it_is_opened_or_not) {
  using testing::StartsWith;
  for (const std::string port : {"", "webhook-"}) {
    SCOPED_TRACE(port);
    EXPECT_THAT(
        mistakes_of({"--" + port + "secure-port=0", "--" + port + "tls-min-version=VersionTLS11",
                     "--" + port + "tls-cipher-suites=none", "--" + port + "tls-cert-file=a.crt",
                     "--" + port + "tls-curve-preferences=P-256"}),
        testing::UnorderedElementsAre(
            StartsWith("--" + port + "tls-cert-file and --" + port + "tls-private-key-file: "),
            StartsWith("--" + port + "tls-min-version: "),
            StartsWith("--" + port + "tls-cipher-suites: "),
            StartsWith("--" + port + "tls-curve-preferences: ")));
  }
  EXPECT_THAT(mistakes_of({"--webhook-tls-sni-cert-key=a.crt"}),
              ElementsAre(StartsWith("--webhook-tls-sni-cert-key: \"a.crt\" is not")));
  EXPECT_THAT(mistakes_of({"--webhook-secure-port=0", "--webhook-tls-min-version=VersionTLS13",
                           "--webhook-tls-cipher-suites=TLS_AES_128_GCM_SHA256",
                           "--webhook-tls-curve-preferences=29", "--webhook-tls-cert-file=a.crt",
                           "--webhook-tls-private-key-file=a.key",
                           "--webhook-tls-sni-cert-key=b.crt,b.key:*.example,b.example"}),
              IsEmpty());
}

TEST(run_flags, what_this_version_has_not_is_taken_only_where_it_asks_for_nothing) {
  EXPECT_THAT(
      mistakes_of({"--profiling=false", "--contention-profiling=false", "--tls-sni-cert-key=",
                   "--requestheader-client-ca-file=", "--requestheader-allowed-names=",
                   "--requestheader-username-headers=X-Remote-User",
                   "--requestheader-group-headers=X-Remote-Group",
                   "--requestheader-extra-headers-prefix=X-Remote-Extra-",
                   "--requestheader-uid-headers=X-Remote-Uid"}),
      IsEmpty());
  for (const std::string flag :
       {"--profiling", "--contention-profiling", "--tls-sni-cert-key=a.crt,a.key",
        "--requestheader-client-ca-file=/ca.crt", "--requestheader-allowed-names=front-proxy",
        "--requestheader-username-headers=X-User", "--requestheader-group-headers=X-Group",
        "--requestheader-extra-headers-prefix=X-Extra-", "--requestheader-uid-headers=X-Uid"}) {
    const std::string name = flag.substr(0, flag.find('='));
    EXPECT_THAT(mistakes_of({flag}), ElementsAre(testing::StartsWith(name + ": "))) << flag;
  }
}

TEST(run_flags, alpha_flags_of_logging_need_their_gate) {
  EXPECT_THAT(mistakes_of({"--log-json-split-stream", "--log-text-info-buffer-size=1Mi"}),
              ElementsAre(HasSubstr("--log-json-split-stream: needs --feature-gates="),
                          HasSubstr("--log-text-info-buffer-size: needs --feature-gates=")));
  EXPECT_THAT(mistakes_of({"--log-json-split-stream", "--feature-gates=LoggingAlphaOptions=true"}),
              IsEmpty());
}

TEST(run_flags, gates_given_twice_add_up) {
  RunOptions options;
  EXPECT_THAT(run_flags(options)
                  .parse({"--feature-gates=WatchList=true", "--feature-gates=WatchList=false"})
                  .mistakes.list(),
              IsEmpty());
  EXPECT_EQ(options.generic.feature_gates.said("WatchList"), false);
  EXPECT_THAT(mistakes_of({"--feature-gates=Nonsense=true"}), ElementsAre(HasSubstr("Nonsense")));
}

TEST(run_flags, a_migration_needs_an_election_and_a_file_needs_a_migration) {
  EXPECT_THAT(mistakes_of({"--enable-leader-migration", "--leader-elect=false"}),
              ElementsAre(HasSubstr("--enable-leader-migration: needs --leader-elect")));
  EXPECT_THAT(mistakes_of({"--leader-migration-config=/m.yaml"}),
              ElementsAre(HasSubstr("--leader-migration-config: is not read")));
}

TEST(run_flags, a_lease_lasts_whole_seconds) {
  EXPECT_THAT(mistakes_of({"--leader-elect-lease-duration=15500ms"}),
              ElementsAre(HasSubstr("whole seconds")));
}

}  // namespace
}  // namespace isthmus::app
