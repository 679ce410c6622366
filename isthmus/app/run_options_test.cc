#include "isthmus/app/run_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "isthmus/kube/elector.h"

namespace isthmus::app {
namespace {

using namespace std::chrono_literals;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> contradictions(const RunOptions& options) {
  Mistakes mistakes;
  find_contradictions(options, mistakes);
  return mistakes.list();
}

RunOptions good_options() {
  RunOptions options;
  options.generic.cloud_provider = "isthmus";
  return options;
}

TEST(run_options, the_defaults_contradict_nothing_once_a_provider_is_named) {
  EXPECT_THAT(contradictions(good_options()), IsEmpty());
  EXPECT_THAT(contradictions(RunOptions{}), ElementsAre(HasSubstr("--cloud-provider")));
}

TEST(run_options, values_of_a_secure_port_that_is_off_are_judged_as_well) {
  RunOptions options = good_options();
  options.serving.secure_port = 0;
  options.serving.bind_address = "not an address";
  options.serving.tls.cert_file = "tls.crt";
  options.serving.tls.min_version = "VersionTLS10";
  options.serving.tls.cipher_suites = "TLS_RSA_WITH_RC4_128_SHA";
  options.serving.tls.curve_preferences = "1";
  options.authorization.always_allow_paths = "healthz";
  EXPECT_THAT(contradictions(options),
              ElementsAre(HasSubstr("--bind-address: "),
                          HasSubstr("--tls-cert-file and --tls-private-key-file: "),
                          HasSubstr("--tls-min-version: "), HasSubstr("--tls-cipher-suites: "),
                          HasSubstr("--tls-curve-preferences: "),
                          HasSubstr("--authorization-always-allow-paths: ")));
}

TEST(run_options, what_a_dry_run_does_without_is_told_by_name) {
  RunOptions options = good_options();
  options.generic.use_service_account_credentials = true;
  EXPECT_EQ(without_effect_in_dry_run(options), "");
  options.generic.dry_run = true;
  EXPECT_EQ(without_effect_in_dry_run(options), "--use-service-account-credentials");
  options.migration.enable_leader_migration = true;
  EXPECT_EQ(without_effect_in_dry_run(options),
            "--use-service-account-credentials, --enable-leader-migration");
  EXPECT_THAT(contradictions(options), IsEmpty()) << "a manager's own flags serve for its dry run";
}

TEST(run_options, the_three_lease_times_must_fit_into_each_other) {
  RunOptions options = good_options();
  options.election.lease_duration = seconds(10);
  EXPECT_THAT(contradictions(options), ElementsAre(HasSubstr("--leader-elect-lease-duration")));

  options = good_options();
  options.election.retry_period = seconds(9);
  EXPECT_THAT(contradictions(options), ElementsAre(HasSubstr("--leader-elect-renew-deadline")));

  options.election.leader_elect = false;
  EXPECT_THAT(contradictions(options), IsEmpty()) << "times that are not used may be anything";
}

TEST(run_options, the_flags_of_an_election_are_refused_by_the_rules_of_the_elector) {
  for (const auto room : {-1ns, 0ns, 1ns}) {
    RunOptions options = good_options();
    options.election.retry_period = seconds(10);
    options.election.renew_deadline = seconds(12) + room;
    const kube::ElectorOptions elector{.lease = {.name_space = "n", .name = "l"},
                                       .identity = "a",
                                       .renew_deadline = options.election.renew_deadline,
                                       .retry_period = options.election.retry_period};
    EXPECT_EQ(contradictions(options).empty(), kube::check(elector).has_value()) << room.count();
  }
  RunOptions options = good_options();
  options.election.lease_duration = std::chrono::hours(1'000'000);
  EXPECT_THAT(contradictions(options), ElementsAre(HasSubstr("more seconds than a Lease")));
}

TEST(run_options, a_lock_other_than_leases_and_an_empty_name_are_refused) {
  RunOptions options = good_options();
  options.election.resource_lock = "endpoints";
  options.election.resource_name = "";
  options.election.resource_namespace = "";
  EXPECT_EQ(contradictions(options).size(), 3u);
}

TEST(run_options, a_lease_whose_name_the_api_server_would_refuse_is_refused_here) {
  for (const std::string name : {"../x", "Bad_Name", "a/b", "-a", "a."}) {
    RunOptions options = good_options();
    options.election.resource_name = name;
    EXPECT_THAT(contradictions(options), ElementsAre(HasSubstr("--leader-elect-resource-name")));
    options = good_options();
    options.election.resource_namespace = name;
    EXPECT_THAT(contradictions(options),
                ElementsAre(HasSubstr("--leader-elect-resource-namespace")));
  }
}

TEST(run_options, a_safety_configmap_whose_name_the_api_server_would_refuse_is_refused_here) {
  for (const std::string name : {"", "kube-system/x", "Safety"}) {
    RunOptions options = good_options();
    options.safety.config_map = name;
    EXPECT_THAT(contradictions(options), ElementsAre(HasSubstr("--safety-configmap")));
  }
}

TEST(run_options, a_refresh_that_would_never_rest_is_refused) {
  RunOptions options = good_options();
  options.node.status_update_frequency = std::chrono::nanoseconds(1);
  EXPECT_THAT(contradictions(options), ElementsAre("--node-status-update-frequency: must be at "
                                                   "least 1s"));
}

TEST(run_options, a_cluster_cidr_that_is_none_is_refused_by_its_name_whether_or_not_it_is_needed) {
  RunOptions options = good_options();
  options.route.configure_cloud_routes = false;
  options.route.cluster_cidr = "10.244.0.0/16,fd00:10:244::/48";
  EXPECT_THAT(contradictions(options), IsEmpty());
  for (const std::string cidr : {"10.244.0.0", "10.244.0.0/33", "10.0.0.0/16,10.1.0.0/16", ","}) {
    options.route.cluster_cidr = cidr;
    EXPECT_THAT(contradictions(options), ElementsAre(HasSubstr("--cluster-cidr: ")));
  }
  options = good_options();
  options.route.reconciliation_period = std::chrono::milliseconds(10);
  EXPECT_THAT(contradictions(options), ElementsAre(HasSubstr("--route-reconciliation-period")));
}

TEST(run_options, half_a_certificate_is_refused) {
  RunOptions options = good_options();
  options.serving.tls.cert_file = "/etc/isthmus/tls.crt";
  EXPECT_THAT(contradictions(options),
              ElementsAre(HasSubstr("--tls-cert-file and --tls-private-key-file")));
}

TEST(run_options, what_tls_cannot_do_is_refused_by_the_names_of_flag_and_value) {
  RunOptions options = good_options();
  options.serving.tls.min_version = "VersionTLS10";
  options.serving.tls.cipher_suites = "TLS_RSA_WITH_RC4_128_SHA";
  options.serving.tls.curve_preferences = "P-256";
  options.authorization.always_allow_paths = "/livez,metrics";
  EXPECT_THAT(
      contradictions(options),
      ElementsAre(HasSubstr("--tls-min-version: \"VersionTLS10\""),
                  HasSubstr("--tls-cipher-suites: \"TLS_RSA_WITH_RC4_128_SHA\""),
                  HasSubstr("--tls-curve-preferences: \"P-256\""),
                  HasSubstr("--authorization-always-allow-paths: \"metrics\" does not begin")));
}

TEST(run_options, the_flags_of_the_secure_port_are_upstreams) {
  RunOptions options;
  const ParsedFlags parsed = run_flags(options).parse(
      {"--cert-dir=/c", "--tls-cipher-suites=TLS_AES_128_GCM_SHA256",
       "--tls-cipher-suites=TLS_AES_256_GCM_SHA384", "--permit-port-sharing",
       "--permit-address-sharing", "--disable-http2-serving",
       "--http2-max-streams-per-connection=250", "--authentication-skip-lookup",
       "--authentication-tolerate-lookup-failure", "--authentication-token-webhook-cache-ttl=0s",
       "--authorization-always-allow-paths=/healthz,/metrics",
       "--authorization-webhook-cache-authorized-ttl=5m",
       "--authorization-webhook-cache-unauthorized-ttl=30s"});

  EXPECT_THAT(parsed.mistakes.list(), IsEmpty());
  EXPECT_EQ(options.serving.tls.cipher_suites, "TLS_AES_128_GCM_SHA256,TLS_AES_256_GCM_SHA384");
  EXPECT_TRUE(options.serving.permit_port_sharing);
  EXPECT_TRUE(options.authentication.skip_lookup);
  EXPECT_EQ(options.authentication.token_cache_ttl, Duration{});
  EXPECT_EQ(options.authorization.always_allow_paths, "/healthz,/metrics");
  EXPECT_EQ(options.authorization.authorized_ttl, std::chrono::minutes(5));
  EXPECT_EQ(run_flags(options).without_effect(parsed),
            "--permit-address-sharing, --disable-http2-serving, "
            "--http2-max-streams-per-connection");
}

TEST(run_options, the_table_fills_the_options) {
  RunOptions options;
  const ParsedFlags parsed = run_flags(options).parse(
      {"--cloud-provider=isthmus", "--secure-port=0", "--leader-elect-lease-duration=137s",
       "--kube-api-burst=7", "-v=2", "--version=raw"});

  EXPECT_THAT(parsed.mistakes.list(), IsEmpty());
  EXPECT_EQ(options.serving.secure_port, 0);
  EXPECT_EQ(options.election.lease_duration, seconds(137));
  EXPECT_EQ(options.generic.kube_api_burst, 7);
  EXPECT_EQ(options.logs.verbosity, 2);
  EXPECT_EQ(options.logs.version, "raw");
}

TEST(run_options, bad_values_are_named_with_what_would_be_right) {
  RunOptions options;
  const ParsedFlags parsed =
      run_flags(options).parse({"--secure-port=65536", "-v=11", "--version=yes"});

  EXPECT_THAT(parsed.mistakes.list(),
              ElementsAre("--secure-port: \"65536\" is not a whole number from 0 to 65535",
                          "-v: \"11\" is not a whole number from 0 to 10",
                          "--version: \"yes\" is not one of true, false, raw"));
}

}  // namespace
}  // namespace isthmus::app
