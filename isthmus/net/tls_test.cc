#include "isthmus/net/tls.h"

#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <chrono>
#include <memory>

namespace isthmus::net {
namespace {

using namespace std::chrono_literals;

constexpr WallTime kNow{1'767'225'600s};  // 2026-01-01T00:00:00Z

std::shared_ptr<X509> parse(const std::string& pem) {
  BIO* bio = BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()));
  X509* certificate = PEM_read_bio_X509(bio, nullptr, nullptr, nullptr);
  BIO_free(bio);
  return {certificate, X509_free};
}

ServerTls self_signed() {
  return make_self_signed("test", {"localhost", "*.svc.example", "127.0.0.1", "::1"}, kNow).value();
}

TEST(tls, a_self_signed_pair_is_usable_and_names_what_it_is_for) {
  const ServerTls tls = self_signed();
  EXPECT_TRUE(check(tls));
  const auto certificate = parse(tls.certificate_pem);
  ASSERT_NE(certificate, nullptr);
  X509* one = certificate.get();
  EXPECT_EQ(X509_check_host(one, "localhost", 0, 0, nullptr), 1);
  EXPECT_EQ(X509_check_host(one, "a.svc.example", 0, 0, nullptr), 1);
  EXPECT_EQ(X509_check_host(one, "other.example", 0, 0, nullptr), 0);
  EXPECT_EQ(X509_check_ip_asc(one, "127.0.0.1", 0), 1);
  EXPECT_EQ(X509_check_ip_asc(one, "::1", 0), 1);
  EXPECT_EQ(X509_check_ip_asc(one, "127.0.0.2", 0), 0);
}

TEST(tls, a_self_signed_pair_is_valid_from_an_hour_before_now_for_a_year) {
  const auto certificate = parse(self_signed().certificate_pem);
  const auto seconds = [](WallTime time) {
    return std::chrono::floor<std::chrono::seconds>(time.time_since_epoch()).count();
  };
  const ASN1_TIME* begin = X509_get0_notBefore(certificate.get());
  const ASN1_TIME* end = X509_get0_notAfter(certificate.get());
  EXPECT_EQ(ASN1_TIME_cmp_time_t(begin, seconds(kNow - 1h)), 0);
  EXPECT_EQ(ASN1_TIME_cmp_time_t(end, seconds(kNow + 365 * 24h)), 0);
}

TEST(tls, a_name_that_is_no_name_is_refused_by_name) {
  const auto tls = make_self_signed("x", {"a,DNS:evil"}, kNow);
  ASSERT_EQ(tls.outcome(), Outcome::invalid);
  EXPECT_EQ(tls.error().message, "\"a,DNS:evil\" is neither a DNS name nor an IP address");
}

TEST(tls, a_server_name_that_could_lead_elsewhere_is_refused) {
  for (const char* name : {"", "api.example", "10.0.0.1", "2001:db8::1"}) {
    EXPECT_TRUE(check(ClientTls{.server_name = name})) << name;
  }
  for (const char* name : {"evil.example/", "a b", "a@b", "a?", "[::1]", "a\n"}) {
    EXPECT_EQ(check(ClientTls{.server_name = name}).outcome(), Outcome::invalid) << name;
  }
  EXPECT_EQ(check(ClientTls{.server_name = "a/"}).error().message,
            "server name \"a/\": is neither a DNS name nor an IP address");
}

TEST(tls, a_server_needs_a_certificate_and_its_key) {
  const ServerTls tls = self_signed();
  EXPECT_EQ(check(ServerTls{}).error().message, "certificate: is missing");
  EXPECT_EQ(check(ServerTls{.certificate_pem = tls.certificate_pem}).error().message,
            "private key: is missing");
  ServerTls mixed{tls.certificate_pem, self_signed().private_key_pem};
  EXPECT_EQ(check(mixed).error().message,
            "private key: does not belong to the (first) certificate");
  EXPECT_EQ(check(mixed).outcome(), Outcome::invalid);
}

TEST(tls, what_is_no_pem_is_named) {
  const ServerTls tls = self_signed();
  EXPECT_EQ(check(ServerTls{"hello", tls.private_key_pem}).error().message,
            "certificate: no PEM certificate in it");
  const auto bad_key = check(ServerTls{tls.certificate_pem, Secret("hello")});
  EXPECT_EQ(bad_key.outcome(), Outcome::invalid);
  EXPECT_TRUE(bad_key.error().message.starts_with("private key: no usable PEM private key"))
      << bad_key.error().message;
  std::string cut = tls.certificate_pem;
  cut.replace(60, 8, "********");
  const auto broken = check(ServerTls{cut, tls.private_key_pem});
  EXPECT_EQ(broken.outcome(), Outcome::invalid);
  EXPECT_TRUE(broken.error().message.starts_with("certificate: ")) << broken.error().message;
}

TEST(tls, a_client_may_do_without_anything_but_not_with_half_a_pair) {
  const ServerTls tls = self_signed();
  EXPECT_TRUE(check(ClientTls{}));
  EXPECT_TRUE(check(ClientTls{.ca_pem = tls.certificate_pem + tls.certificate_pem}));
  EXPECT_EQ(check(ClientTls{.ca_pem = "x"}).error().message,
            "CA certificates: no PEM certificate in it");
  EXPECT_TRUE(check(ClientTls{.ca_pem = "",
                              .certificate_pem = tls.certificate_pem,
                              .private_key_pem = tls.private_key_pem,
                              .server_name = ""}));
  EXPECT_EQ(check(ClientTls{.ca_pem = "",
                            .certificate_pem = tls.certificate_pem,
                            .private_key_pem = Secret(),
                            .server_name = ""})
                .error()
                .message,
            "private key: is missing");
}

}  // namespace
}  // namespace isthmus::net
