#include "isthmus/net/self_signed.h"

#include <gtest/gtest.h>

#include <chrono>

#include "isthmus/net/authority_testing.h"

namespace isthmus::net {
namespace {

using namespace std::chrono_literals;

constexpr WallTime kNow{1'767'225'600s};  // 2026-01-01T00:00:00Z
constexpr Duration kYear = 365 * 24h;

// Ends in the year 9966, as `openssl req -x509 -days 2900000` makes them.
constexpr const char* kOfThousandsOfYears = R"(-----BEGIN CERTIFICATE-----
MIIBbjCCARWgAwIBAgIUVFG8b8uyiJJf5L+/pnatLfxnS0wwCgYIKoZIzj0EAwIw
DDEKMAgGA1UEAwwBeDAgFw0yNjExMzAxNDUyMzNaGA85OTY2MTEwNTE0NTIzM1ow
DDEKMAgGA1UEAwwBeDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABBZFGYM7GfI9
Ru6/n9Z9djf6VMs5xsE9n9HWW07BHrfilA7LUNF7Hp+Yhd1STNJsLA9xbeKB8CRp
RhGayYleCxGjUzBRMB0GA1UdDgQWBBT01jTgUP2RoV3cd/7NwybC5fDbKjAfBgNV
HSMEGDAWgBT01jTgUP2RoV3cd/7NwybC5fDbKjAPBgNVHRMBAf8EBTADAQH/MAoG
CCqGSM49BAMCA0cAMEQCIHU1VD/iUwAICanXE7p39XMflIoI+4m40TuhcfG//dzw
AiA927VvqoYAaFtHavPt1kRfM4tYtlCooY9vnEVON4pR+A==
-----END CERTIFICATE-----
)";

ServerTls made(WallTime now) { return make_self_signed("isthmus", {"localhost"}, now).value(); }

TEST(self_signed, a_certificate_of_ours_is_known_by_its_mark_and_says_how_long_it_lasts) {
  const CertificateTerm term = term_of(made(kNow).certificate_pem).value();
  EXPECT_EQ(term, (CertificateTerm{kNow - 1h, kNow + kYear, true}));
}

TEST(self_signed, a_certificate_of_anybody_else_is_not_ours) {
  const TestAuthority authority(kNow);
  EXPECT_FALSE(term_of(authority.pem()).value().is_self_made) << "vouches for itself, as ours";
  const auto issued = authority.issue({.common_name = "isthmus", .life = 2h});
  EXPECT_EQ(term_of(issued.pem).value(), (CertificateTerm{kNow - 1min, kNow + 2h, false}));
}

TEST(self_signed, another_certificate_for_the_same_key_fits_it) {
  const ServerTls first = made(kNow);
  const ServerTls next =
      self_sign(first.private_key_pem, "isthmus", {"localhost"}, kNow + kYear).value();
  EXPECT_NE(next.certificate_pem, first.certificate_pem);
  EXPECT_EQ(next.private_key_pem.reveal(), first.private_key_pem.reveal());
  EXPECT_TRUE(check(ServerTls{next.certificate_pem, first.private_key_pem}));
  EXPECT_EQ(term_of(next.certificate_pem).value().end, kNow + 2 * kYear);
}

TEST(self_signed, what_cannot_be_signed_with_is_refused) {
  const auto tls = self_sign(Secret("hello"), "isthmus", {}, kNow);
  EXPECT_EQ(tls.outcome(), Outcome::invalid);
  EXPECT_TRUE(tls.error().message.starts_with("private key: no usable PEM private key"))
      << tls.error().message;
}

TEST(self_signed, a_certificate_that_never_ends_lasts_as_long_as_time) {
  const CertificateTerm term = term_of(kOfThousandsOfYears).value();
  EXPECT_GT(term.end, kNow + 200 * kYear);
  EXPECT_FALSE(term.is_self_made);
}

TEST(self_signed, what_is_no_certificate_has_no_term) {
  EXPECT_EQ(term_of("hello").outcome(), Outcome::invalid);
  std::string cut = made(kNow).certificate_pem;
  cut.resize(cut.size() / 2);
  EXPECT_EQ(term_of(cut).outcome(), Outcome::invalid);
}

}  // namespace
}  // namespace isthmus::net
