#include "isthmus/net/client_certificates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "isthmus/net/authority_testing.h"
#include "isthmus/net/curl_transport.h"
#include "isthmus/net/server_testing.h"

namespace isthmus::net {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr WallTime kNow{1'767'225'600s};  // 2026-01-01T00:00:00Z

class ClientCertificatesTest : public testing::Test {
 protected:
  std::string refusal(const IssuedCertificate& certificate, WallTime now = kNow) {
    const Result<CertificateSubject> subject = authorities.verify({certificate.der}, now);
    return subject ? "believed" : subject.error().message;
  }

  const TestAuthority authority{kNow};
  const ClientAuthorities authorities = ClientAuthorities::parse(authority.pem()).value();
};

TEST_F(ClientCertificatesTest, name_a_user_and_the_groups_it_is_in) {
  const IssuedCertificate issued =
      authority.issue({.common_name = "prometheus", .organizations = {"monitoring", "readers"}});

  const CertificateSubject subject = authorities.verify({issued.der}, kNow).value();

  EXPECT_EQ(subject, (CertificateSubject{"prometheus", {"monitoring", "readers"}}));
}

TEST_F(ClientCertificatesTest, are_believed_only_from_our_authorities) {
  const TestAuthority other(kNow);
  EXPECT_THAT(refusal(other.issue({.common_name = "prometheus"})), HasSubstr("certificate"));
  EXPECT_EQ(authorities.verify({"no DER"}, kNow).outcome(), Outcome::denied);
  EXPECT_EQ(authorities.verify({}, kNow).outcome(), Outcome::denied);
}

TEST_F(ClientCertificatesTest, are_believed_only_within_their_time) {
  const IssuedCertificate issued = authority.issue({.common_name = "prometheus", .life = 1h});
  EXPECT_THAT(refusal(issued, kNow + 59min), "believed");
  EXPECT_THAT(refusal(issued, kNow + 61min), HasSubstr("expired"));
  EXPECT_THAT(refusal(issued, kNow - 1h), HasSubstr("not yet valid"));
}

TEST_F(ClientCertificatesTest, of_servers_are_no_clients) {
  EXPECT_THAT(refusal(authority.issue({.common_name = "web", .usage = "serverAuth"})),
              HasSubstr("purpose"));
}

TEST_F(ClientCertificatesTest, must_name_somebody_who_can_be_written_down) {
  EXPECT_THAT(refusal(authority.issue({.organizations = {"system:masters"}})),
              HasSubstr("no common name"));
  EXPECT_THAT(refusal(authority.issue({.common_name = "a\nb"})), HasSubstr("cannot be used"));
}

TEST(client_authorities, are_read_all_or_not_at_all) {
  const std::string one = TestAuthority(kNow).pem();
  EXPECT_TRUE(ClientAuthorities::parse(one + "\n" + TestAuthority(kNow).pem()));
  EXPECT_THAT(ClientAuthorities::parse("").error().message, HasSubstr("no PEM certificate"));
  const std::string torn = one + "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
  EXPECT_THAT(ClientAuthorities::parse(torn).error().message, HasSubstr("cannot be read"));
}

// A server that asks for certificates, and what reached its handler.
class CertificateServerTest : public testing::Test {
 protected:
  static Task<Result<>> get(Transport& transport) {
    const Response answer = CO_TRY(co_await transport.call({.target = "/"}));
    EXPECT_EQ(answer.status, 200);
    co_return Result<>{};
  }
  void call(const ClientTls& client) {
    const auto transport =
        make_curl_transport(world, {.url = server.url(), .tls = client, .proxy = ""}).value();
    ASSERT_TRUE(while_serving(world, server, get(*transport)));
  }

  PosixWorld world;
  const ServerTls tls = make_self_signed("test", {"127.0.0.1"}, world.loop().wall_now()).value();
  TestServer server{world, {}, tls, "", {.asks_for_certificate = true}};
};

TEST_F(CertificateServerTest, hands_over_what_a_client_presents_whoever_issued_it) {
  const TestAuthority authority(world.loop().wall_now());
  const IssuedCertificate issued = authority.issue({.common_name = "prometheus"});

  call({.ca_pem = tls.certificate_pem,
        .certificate_pem = issued.pem + authority.pem(),
        .private_key_pem = issued.key_pem});

  ASSERT_EQ(server.handler.last_peer.certificates.size(), 2U);
  EXPECT_EQ(server.handler.last_peer.certificates.front(), issued.der);
  const ClientAuthorities authorities = ClientAuthorities::parse(authority.pem()).value();
  EXPECT_TRUE(authorities.verify(server.handler.last_peer.certificates, world.loop().wall_now()));
}

TEST_F(CertificateServerTest, refuses_a_key_that_takes_long_to_check) {
  const TestAuthority authority(world.loop().wall_now());
  const IssuedCertificate issued = authority.issue({.common_name = "prometheus", .rsa_bits = 8200});
  const ClientTls client{.ca_pem = tls.certificate_pem,
                         .certificate_pem = issued.pem,
                         .private_key_pem = issued.key_pem};
  const auto transport =
      make_curl_transport(world, {.url = server.url(), .tls = client, .proxy = ""}).value();

  EXPECT_FALSE(while_serving(world, server, get(*transport)));
  EXPECT_EQ(server.handler.requests, 0);
}

TEST_F(CertificateServerTest, goes_on_asking_when_its_own_certificate_is_replaced) {
  const ServerTls next = make_self_signed("next", {"127.0.0.1"}, world.loop().wall_now()).value();
  ASSERT_TRUE(server.server->replace_certificate(next));
  const TestAuthority authority(world.loop().wall_now());
  const IssuedCertificate issued = authority.issue({.common_name = "prometheus"});

  call({.ca_pem = next.certificate_pem,
        .certificate_pem = issued.pem,
        .private_key_pem = issued.key_pem});

  EXPECT_EQ(server.handler.last_peer.certificates.size(), 1U);
}

TEST_F(CertificateServerTest, serves_a_client_without_one_as_well) {
  call({.ca_pem = tls.certificate_pem});
  EXPECT_THAT(server.handler.last_peer.certificates, IsEmpty());
}

}  // namespace
}  // namespace isthmus::net
