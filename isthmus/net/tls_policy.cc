#include "isthmus/net/tls_policy.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "isthmus/base/text.h"

namespace isthmus::net {
namespace {

struct Suite {
  std::string_view name;     // IANA's, which is Go's.
  std::string_view openssl;  // Empty: of TLS 1.3.
};

constexpr std::array kSuites = {
    Suite{"TLS_AES_128_GCM_SHA256", ""},
    Suite{"TLS_AES_256_GCM_SHA384", ""},
    Suite{"TLS_CHACHA20_POLY1305_SHA256", ""},
    Suite{"TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "ECDHE-ECDSA-AES128-GCM-SHA256"},
    Suite{"TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", "ECDHE-ECDSA-AES256-GCM-SHA384"},
    Suite{"TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305", "ECDHE-ECDSA-CHACHA20-POLY1305"},
    Suite{"TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-ECDSA-CHACHA20-POLY1305"},
    Suite{"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "ECDHE-RSA-AES128-GCM-SHA256"},
    Suite{"TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", "ECDHE-RSA-AES256-GCM-SHA384"},
    Suite{"TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305", "ECDHE-RSA-CHACHA20-POLY1305"},
    Suite{"TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-RSA-CHACHA20-POLY1305"},
    // Without authenticated encryption or forward secrecy; hardening guides still list them.
    Suite{"TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA", "ECDHE-ECDSA-AES128-SHA"},
    Suite{"TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256", "ECDHE-ECDSA-AES128-SHA256"},
    Suite{"TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA", "ECDHE-ECDSA-AES256-SHA"},
    Suite{"TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA", "ECDHE-RSA-AES128-SHA"},
    Suite{"TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256", "ECDHE-RSA-AES128-SHA256"},
    Suite{"TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA", "ECDHE-RSA-AES256-SHA"},
    Suite{"TLS_RSA_WITH_AES_128_CBC_SHA", "AES128-SHA"},
    Suite{"TLS_RSA_WITH_AES_128_CBC_SHA256", "AES128-SHA256"},
    Suite{"TLS_RSA_WITH_AES_128_GCM_SHA256", "AES128-GCM-SHA256"},
    Suite{"TLS_RSA_WITH_AES_256_CBC_SHA", "AES256-SHA"},
    Suite{"TLS_RSA_WITH_AES_256_GCM_SHA384", "AES256-GCM-SHA384"},
};

struct Group {
  unsigned number;  // In IANA's registry of TLS supported groups.
  std::string_view openssl;
};

constexpr std::array kGroups = {Group{23, "P-256"}, Group{24, "P-384"}, Group{25, "P-521"},
                                Group{29, "X25519"}};

bool is_broken(std::string_view suite) {
  return suite.find("_RC4_") != std::string_view::npos ||
         suite.find("_3DES_") != std::string_view::npos;
}

void complain(std::string& complaints, std::string_view about, std::string_view what) {
  complaints += (complaints.empty() ? "" : "; ") + quoted(about) + " " + std::string(what);
}

std::optional<unsigned> number(std::string_view text) {
  unsigned value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) {
    return std::nullopt;
  }
  return value;
}

}  // namespace

Result<TlsVersion> parse_tls_version(std::string_view text) {
  if (text.empty() || text == "VersionTLS12") return TlsVersion::v1_2;
  if (text == "VersionTLS13") return TlsVersion::v1_3;
  if (text == "VersionTLS10" || text == "VersionTLS11") {
    return fail(Outcome::invalid, quoted(text) + " is forbidden by RFC 8996; use VersionTLS12");
  }
  return fail(Outcome::invalid, quoted(text) + " is neither VersionTLS12 nor VersionTLS13");
}

Result<CipherSuites> parse_cipher_suites(std::string_view text) {
  CipherSuites chosen;
  if (trimmed(text).empty()) return chosen;
  std::string complaints;
  for (const std::string_view part : split(text, ',')) {
    const std::string_view name = trimmed(part);
    const auto* suite = std::ranges::find(kSuites, name, &Suite::name);
    if (is_broken(name)) {
      complain(complaints, name, "is broken and not offered");
    } else if (suite == kSuites.end()) {
      complain(complaints, name, "is not a cipher suite");
    } else if (!suite->openssl.empty()) {
      chosen.of_tls_1_2.emplace_back(suite->openssl);
    }
  }
  if (!complaints.empty()) return fail(Outcome::invalid, complaints);
  chosen.only_tls_1_3 = chosen.of_tls_1_2.empty();
  return chosen;
}

Result<std::vector<std::string>> parse_curve_preferences(std::string_view text) {
  std::vector<std::string> groups;
  if (trimmed(text).empty()) return groups;
  std::string complaints;
  for (const std::string_view part : split(text, ',')) {
    const std::string_view word = trimmed(part);
    const std::optional<unsigned> id = number(word);
    const auto* group = std::ranges::find(kGroups, id.value_or(0), &Group::number);
    if (!id) {
      complain(complaints, word, "is not the number of a curve");
    } else if (group == kGroups.end()) {
      complain(complaints, word, "is not offered: 23 (P-256), 24 (P-384), 25 (P-521), 29 (X25519)");
    } else if (std::ranges::find(groups, group->openssl) != groups.end()) {
      complain(complaints, word, "is given twice");
    } else {
      groups.emplace_back(group->openssl);
    }
  }
  if (!complaints.empty()) return fail(Outcome::invalid, complaints);
  return groups;
}

}  // namespace isthmus::net
