// How a server of ours speaks TLS, and the words of Kubernetes' flags for it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "isthmus/base/result.h"

namespace isthmus::net {

enum class TlsVersion : std::uint8_t { v1_2, v1_3 };

// A value. Empty lists leave the choice to OpenSSL, whose defaults are sound.
struct TlsPolicy {
  TlsVersion version_min = TlsVersion::v1_2;
  std::vector<std::string> cipher_suites = {};  // Of TLS 1.2, by OpenSSL's names.
  std::vector<std::string> groups = {};         // For the key exchange, by OpenSSL's names.

  // Asks every client for a certificate, which it may leave out: what it presents goes to the
  // handler, which has it verified (client_certificates.h).
  bool asks_for_certificate = false;
};

// "VersionTLS12" or "VersionTLS13"; empty: the former. invalid: anything else, among it the two
// versions that RFC 8996 forbids.
Result<TlsVersion> parse_tls_version(std::string_view text);

// Names of cipher suites as IANA and Go write them (TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256),
// separated by commas. Suites of TLS 1.3 are good names, but nobody can switch them off.
struct CipherSuites {
  std::vector<std::string> of_tls_1_2 = {};  // By OpenSSL's names, in the order given.
  bool only_tls_1_3 = false;                 // Some were named, and none of them of TLS 1.2.
};
// invalid: names every one that does not exist here or is broken (RC4, 3DES).
Result<CipherSuites> parse_cipher_suites(std::string_view text);

// Numbers of groups as TLS and Go's crypto/tls number them: 23 is P-256, 24 P-384, 25 P-521,
// 29 X25519. invalid: names every one that is no number, is given twice, or does not exist here.
Result<std::vector<std::string>> parse_curve_preferences(std::string_view text);

}  // namespace isthmus::net
