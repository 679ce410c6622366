#include "isthmus/app/run_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace isthmus::app {
namespace {

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
  options.cloud_provider = "isthmus";
  return options;
}

TEST(run_options, the_defaults_contradict_nothing_once_a_provider_is_named) {
  EXPECT_THAT(contradictions(good_options()), IsEmpty());
  EXPECT_THAT(contradictions(RunOptions{}), ElementsAre(HasSubstr("--cloud-provider")));
}

TEST(run_options, the_three_lease_times_must_fit_into_each_other) {
  RunOptions options = good_options();
  options.leader_elect_lease_duration = seconds(10);
  EXPECT_THAT(contradictions(options), ElementsAre(HasSubstr("--leader-elect-lease-duration")));

  options = good_options();
  options.leader_elect_retry_period = seconds(9);
  EXPECT_THAT(contradictions(options), ElementsAre(HasSubstr("--leader-elect-renew-deadline")));

  options.leader_elect = false;
  EXPECT_THAT(contradictions(options), IsEmpty()) << "times that are not used may be anything";
}

TEST(run_options, a_lock_other_than_leases_and_an_empty_name_are_refused) {
  RunOptions options = good_options();
  options.leader_elect_resource_lock = "endpoints";
  options.leader_elect_resource_name = "";
  options.leader_elect_resource_namespace = "";
  EXPECT_EQ(contradictions(options).size(), 3u);
}

TEST(run_options, a_lease_whose_name_the_api_server_would_refuse_is_refused_here) {
  for (const std::string name : {"../x", "Bad_Name", "a/b", "-a", "a."}) {
    RunOptions options = good_options();
    options.leader_elect_resource_name = name;
    EXPECT_THAT(contradictions(options), ElementsAre(HasSubstr("--leader-elect-resource-name")));
    options = good_options();
    options.leader_elect_resource_namespace = name;
    EXPECT_THAT(contradictions(options),
                ElementsAre(HasSubstr("--leader-elect-resource-namespace")));
  }
}

TEST(run_options, a_refresh_that_would_never_rest_is_refused) {
  RunOptions options = good_options();
  options.node_status_update_frequency = std::chrono::nanoseconds(1);
  EXPECT_THAT(contradictions(options), ElementsAre("--node-status-update-frequency: must be at "
                                                   "least 1s"));
}

TEST(run_options, half_a_certificate_is_refused) {
  RunOptions options = good_options();
  options.tls_cert_file = "/etc/isthmus/tls.crt";
  EXPECT_THAT(contradictions(options),
              ElementsAre(HasSubstr("--tls-cert-file and --tls-private-key-file")));
}

TEST(run_options, the_table_fills_the_options) {
  RunOptions options;
  const ParsedFlags parsed = run_flags(options).parse(
      {"--cloud-provider=isthmus", "--secure-port=0", "--leader-elect-lease-duration=137s",
       "--kube-api-burst=7", "-v=2", "--version=raw"});

  EXPECT_THAT(parsed.mistakes.list(), IsEmpty());
  EXPECT_EQ(options.secure_port, 0);
  EXPECT_EQ(options.leader_elect_lease_duration, seconds(137));
  EXPECT_EQ(options.kube_api_burst, 7);
  EXPECT_EQ(options.verbosity, 2);
  EXPECT_EQ(options.version, "raw");
}

TEST(run_options, bad_values_are_named_with_what_would_be_right) {
  RunOptions options;
  const ParsedFlags parsed =
      run_flags(options).parse({"--secure-port=65536", "-v=11", "--version=yes"});

  EXPECT_THAT(parsed.mistakes.list(),
              ElementsAre("--secure-port: \"65536\" is not a whole number from 0 to 65535",
                          "--v: \"11\" is not a whole number from 0 to 10",
                          "--version: \"yes\" is not one of true, false, raw"));
}

}  // namespace
}  // namespace isthmus::app
