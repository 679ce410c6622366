#include "isthmus/net/tls_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "isthmus/net/connection_impl.h"

namespace isthmus::net {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(tls_policy, versions_are_kubernetes_words_and_never_below_tls_1_2) {
  EXPECT_EQ(parse_tls_version("").value(), TlsVersion::v1_2);
  EXPECT_EQ(parse_tls_version("VersionTLS12").value(), TlsVersion::v1_2);
  EXPECT_EQ(parse_tls_version("VersionTLS13").value(), TlsVersion::v1_3);
  EXPECT_THAT(parse_tls_version("VersionTLS10").error().message, HasSubstr("RFC 8996"));
  EXPECT_EQ(parse_tls_version("TLS1.2").outcome(), Outcome::invalid);
}

TEST(tls_policy, cipher_suites_go_by_the_names_of_go) {
  const CipherSuites suites = parse_cipher_suites(
                                  "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, TLS_AES_128_GCM_SHA256,"
                                  "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305")
                                  .value();
  EXPECT_THAT(suites.of_tls_1_2,
              ElementsAre("ECDHE-RSA-AES128-GCM-SHA256", "ECDHE-ECDSA-CHACHA20-POLY1305"));
  EXPECT_FALSE(suites.only_tls_1_3);
  EXPECT_TRUE(parse_cipher_suites("TLS_AES_256_GCM_SHA384").value().only_tls_1_3);
  EXPECT_THAT(parse_cipher_suites("").value().of_tls_1_2, IsEmpty());
  EXPECT_FALSE(parse_cipher_suites("").value().only_tls_1_3);
}

TEST(tls_policy, every_bad_cipher_suite_is_named) {
  const std::string why = parse_cipher_suites(
                              "TLS_RSA_WITH_RC4_128_SHA,ECDHE-RSA-AES128-GCM-SHA256,,"
                              "TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA")
                              .error()
                              .message;
  EXPECT_EQ(why,
            "\"TLS_RSA_WITH_RC4_128_SHA\" is broken and not offered; "
            "\"ECDHE-RSA-AES128-GCM-SHA256\" is not a cipher suite; \"\" is not a cipher suite; "
            "\"TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA\" is broken and not offered");
}

TEST(tls_policy, curves_go_by_their_numbers) {
  EXPECT_THAT(parse_curve_preferences("29, 23").value(), ElementsAre("X25519", "P-256"));
  EXPECT_THAT(parse_curve_preferences("").value(), IsEmpty());
  const std::string why = parse_curve_preferences("P-256,4588,23,23").error().message;
  EXPECT_THAT(why, HasSubstr("\"P-256\" is not the number of a curve"));
  EXPECT_THAT(why, HasSubstr("\"4588\" is not offered"));
  EXPECT_THAT(why, HasSubstr("\"23\" is given twice"));
}

TEST(tls_policy, openssl_takes_every_suite_and_curve_there_is_a_name_for) {
  const ServerTls tls = make_self_signed("test", {"localhost"}, WallTime{}).value();
  TlsPolicy policy;
  policy.groups = parse_curve_preferences("23,24,25,29").value();
  for (const char* name :
       {"TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
        "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
        "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
        "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA", "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256",
        "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA", "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA",
        "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256", "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA",
        "TLS_RSA_WITH_AES_128_CBC_SHA", "TLS_RSA_WITH_AES_128_CBC_SHA256",
        "TLS_RSA_WITH_AES_128_GCM_SHA256", "TLS_RSA_WITH_AES_256_CBC_SHA",
        "TLS_RSA_WITH_AES_256_GCM_SHA384"}) {
    policy.cipher_suites = parse_cipher_suites(name).value().of_tls_1_2;
    EXPECT_TRUE(make_server_context(tls, policy)) << name;
  }
  policy.cipher_suites = {"NO-SUCH-SUITE"};
  EXPECT_EQ(make_server_context(tls, policy).outcome(), Outcome::invalid);
}

}  // namespace
}  // namespace isthmus::net
