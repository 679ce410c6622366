// Any bytes in place of what callers of the secure port present, and of what the API server answers
// about them: nothing crashes, reads out of bounds or hangs, and nobody is taken for somebody.
//
// The first byte chooses what the rest is taken for.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include "isthmus/kube/api/review.h"
#include "isthmus/net/client_certificates.h"
#include "isthmus/net/tls.h"
#include "isthmus/net/tls_policy.h"

namespace isthmus {
namespace {

constexpr WallTime kNow{std::chrono::seconds(1'767'225'600)};  // 2026-01-01T00:00:00Z

// Its key exists only here, so no input can be a certificate that it has issued.
const net::ClientAuthorities& authorities() {
  static const net::ClientAuthorities made =
      net::ClientAuthorities::parse(
          net::make_self_signed("authority", {}, kNow).value().certificate_pem)
          .value();
  return made;
}

void take(std::uint8_t kind, const std::string& text) {
  switch (static_cast<std::uint8_t>(kind - '0') % 5) {
    case 0:
      ISTHMUS_ASSERT(!authorities().verify({text}, kNow), "nobody vouches for an input");
      return;
    case 1:
      if (const auto parsed = net::ClientAuthorities::parse(text)) {
        (void)parsed->verify({text}, kNow);
      }
      return;
    case 2:
      if (const auto review = kube::decode_token_review(text)) {
        ISTHMUS_ASSERT(!review->authenticated || !review->user.name.empty(), "somebody has a name");
        (void)kube::access_review_body(review->user, "get", "/metrics");
      }
      return;
    case 3:
      (void)kube::decode_access_review(text);
      return;
    default:
      (void)net::parse_cipher_suites(text);
      (void)net::parse_curve_preferences(text);
      (void)net::parse_tls_version(text);
  }
}

}  // namespace
}  // namespace isthmus

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  isthmus::take(data[0], std::string(reinterpret_cast<const char*>(data + 1), size - 1));
  return 0;
}
