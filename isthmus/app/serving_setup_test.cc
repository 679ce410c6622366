#include "isthmus/app/serving_setup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "isthmus/net/authority_testing.h"

namespace isthmus::app {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr WallTime kNow{seconds(1'767'225'600)};  // 2026-01-01T00:00:00Z

constexpr const char* kKubeconfig = R"({"apiVersion": "v1", "kind": "Config",
    "current-context": "c",
    "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
    "clusters": [{"name": "k", "cluster": {"server": "http://127.0.0.1:1"}}],
    "users": [{"name": "u", "user": {"token": "t"}}]})";

class ServingSetupTest : public testing::Test {
 protected:
  ServingSetupTest() { put("kubeconfig", kKubeconfig); }

  void put(const std::string& path, const std::string& text) {
    EXPECT_TRUE(files.write(path, text, FileMode::owner_only));
  }
  ServingSetup prepare() {
    std::optional<ServingSetup> setup =
        prepare_serving(files, options, environment, kNow, mistakes);
    EXPECT_TRUE(mistakes.empty()) << mistakes.text();
    return std::move(*setup);
  }
  std::string complaints() {
    EXPECT_FALSE(prepare_serving(files, options, environment, kNow, mistakes));
    return mistakes.text();
  }

  MemoryFiles files;
  RunOptions options;
  Environment environment{.host_name = "host1", .in_cluster = {}};
  Mistakes mistakes;
};

TEST_F(ServingSetupTest, by_default_nobody_can_be_looked_up_outside_of_a_pod) {
  const ServingSetup setup = prepare();

  EXPECT_FALSE(setup.looks_callers_up());
  EXPECT_FALSE(setup.looks_up_client_ca);
  EXPECT_FALSE(setup.policy.asks_for_certificate);
  EXPECT_EQ(setup.address.port, 10258);
  EXPECT_FALSE(setup.address.shares_port);
  EXPECT_THAT(setup.rules.always_allow_paths, ElementsAre("/healthz", "/readyz", "/livez"));
}

TEST_F(ServingSetupTest, a_pod_asks_its_own_cluster) {
  const std::string directory(kube::kServiceAccountDirectory);
  put(directory + "/token", "t");
  put(directory + "/ca.crt", net::TestAuthority(kNow).pem());
  environment.in_cluster = {.host = "10.0.0.1", .port = "443"};

  const ServingSetup setup = prepare();

  EXPECT_EQ(setup.authentication->server, "https://10.0.0.1:443");
  EXPECT_EQ(setup.authorization->server, "https://10.0.0.1:443");
  EXPECT_TRUE(setup.looks_up_client_ca);
  EXPECT_TRUE(setup.needs_client_ca);
  EXPECT_TRUE(setup.policy.asks_for_certificate);
}

TEST_F(ServingSetupTest, a_pod_without_a_service_account_has_nobody_to_ask) {
  environment.in_cluster = {.host = "10.0.0.1", .port = "443"};
  EXPECT_FALSE(prepare().looks_callers_up());
}

TEST_F(ServingSetupTest, a_service_account_that_cannot_be_used_is_a_mistake_and_not_nobody) {
  const std::string directory(kube::kServiceAccountDirectory);
  environment.in_cluster = {.host = "10.0.0.1", .port = "443"};
  put(directory + "/token", "t");
  put(directory + "/ca.crt", "no certificate");
  EXPECT_THAT(complaints(), HasSubstr("ca.crt"));

  mistakes = {};
  put(directory + "/ca.crt", net::TestAuthority(kNow).pem());
  files.break_path(directory + "/token", Outcome::denied);
  const std::string text = complaints();
  EXPECT_THAT(text, HasSubstr("--authentication-kubeconfig is not given: "));
  EXPECT_THAT(text, HasSubstr("--authorization-kubeconfig is not given: "));
}

TEST_F(ServingSetupTest, lookups_of_the_authorities_can_be_skipped_or_taken_lightly) {
  options.authentication.kubeconfig = "kubeconfig";
  options.authentication.tolerate_lookup_failure = true;
  EXPECT_TRUE(prepare().looks_up_client_ca);
  EXPECT_FALSE(prepare().needs_client_ca);

  options.authentication.skip_lookup = true;
  EXPECT_FALSE(prepare().looks_up_client_ca);
  EXPECT_FALSE(prepare().policy.asks_for_certificate);
}

TEST_F(ServingSetupTest, a_file_of_authorities_counts_instead_of_the_published_ones) {
  put("ca.crt", net::TestAuthority(kNow).pem());
  options.authentication.kubeconfig = "kubeconfig";
  options.authentication.client_ca_file = "ca.crt";

  const ServingSetup setup = prepare();

  EXPECT_TRUE(setup.client_ca.has_value());
  EXPECT_FALSE(setup.looks_up_client_ca);
  EXPECT_TRUE(setup.policy.asks_for_certificate);
}

TEST_F(ServingSetupTest, open_paths_can_be_named_and_cleared) {
  options.authorization.always_allow_paths = "/healthz, /metrics*";
  EXPECT_THAT(prepare().rules.always_allow_paths, ElementsAre("/healthz", "/metrics*"));
  options.authorization.always_allow_paths = "";
  EXPECT_THAT(prepare().rules.always_allow_paths, IsEmpty());
}

TEST_F(ServingSetupTest, a_directory_without_a_pair_gets_one) {
  options.serving.cert_dir = "certs";
  const ServingCertificate made = prepare().certificate;
  EXPECT_TRUE(made.is_made_there);
  EXPECT_EQ(made.files.certificate, "certs/cloud-controller-manager.crt");
  EXPECT_EQ(made.files.private_key, "certs/cloud-controller-manager.key");
  EXPECT_TRUE(net::check(made.pair.tls));

  put(made.files.private_key, made.pair.tls.private_key_pem.reveal());
  EXPECT_THAT(complaints(), HasSubstr("--cert-dir: certs/cloud-controller-manager.key is there"));
  mistakes = {};
  put(made.files.certificate, made.pair.tls.certificate_pem);
  const ServingCertificate found = prepare().certificate;
  EXPECT_TRUE(found.is_made_there);
  EXPECT_EQ(found.pair.tls.certificate_pem, made.pair.tls.certificate_pem);
  EXPECT_EQ(found.pair.stamps, stamps_of(files, found.files));
}

TEST_F(ServingSetupTest, files_are_stamped_as_they_were_loaded_and_never_ours_to_make) {
  const net::ServerTls pair = net::make_self_signed("test", {"localhost"}, kNow).value();
  put("tls.crt", pair.certificate_pem);
  put("tls.key", pair.private_key_pem.reveal());
  put("ca.crt", net::TestAuthority(kNow).pem());
  options.serving.tls.cert_file = "tls.crt";
  options.serving.tls.private_key_file = "tls.key";
  options.serving.cert_dir = "certs";
  options.authentication.client_ca_file = "ca.crt";

  const ServingSetup setup = prepare();

  EXPECT_FALSE(setup.certificate.is_made_there);
  EXPECT_EQ(setup.certificate.pair.stamps, stamps_of(files, setup.certificate.files));
  EXPECT_EQ(setup.client_ca_stamp, files.stamp("ca.crt").value());
}

TEST_F(ServingSetupTest, tls_is_spoken_as_the_flags_say) {
  options.serving.tls.min_version = "VersionTLS13";
  options.serving.tls.curve_preferences = "29";
  options.serving.permit_port_sharing = true;
  EXPECT_EQ(prepare().policy.version_min, net::TlsVersion::v1_3);
  EXPECT_THAT(prepare().policy.groups, ElementsAre("X25519"));
  EXPECT_TRUE(prepare().address.shares_port);

  options.serving.tls.min_version = "";
  options.serving.tls.cipher_suites = "TLS_AES_128_GCM_SHA256";
  EXPECT_EQ(prepare().policy.version_min, net::TlsVersion::v1_3) << "no suite of TLS 1.2 is left";
}

TEST_F(ServingSetupTest, every_mistake_is_told_at_once_under_its_flag) {
  options.serving.tls.cert_file = "none.crt";
  options.serving.tls.private_key_file = "none.key";
  options.authentication.kubeconfig = "none";
  options.authentication.client_ca_file = "none.pem";
  options.authorization.kubeconfig = "none too";

  const std::string text = complaints();

  for (const char* flag :
       {"--tls-cert-file, --tls-private-key-file:", "--authentication-kubeconfig:",
        "--client-ca-file:", "--authorization-kubeconfig:"}) {
    EXPECT_THAT(text, HasSubstr(flag));
  }
}

}  // namespace
}  // namespace isthmus::app
