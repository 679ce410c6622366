#include "isthmus/net/self_signed.h"

#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "isthmus/net/openssl_impl.h"

namespace isthmus::net {
namespace {

using namespace openssl;
using Extension = std::unique_ptr<X509_EXTENSION,
                                  decltype([](X509_EXTENSION* one) { X509_EXTENSION_free(one); })>;
using Time = std::unique_ptr<ASN1_TIME, decltype([](ASN1_TIME* one) { ASN1_TIME_free(one); })>;
using Comment =
    std::unique_ptr<ASN1_IA5STRING, decltype([](auto* one) { ASN1_IA5STRING_free(one); })>;

constexpr Duration kSelfSignedBefore = std::chrono::hours(1);  // For clocks that are behind ours.
constexpr Duration kSelfSignedLife = std::chrono::hours(24 * 365);

// A comment in the certificate, which `openssl x509 -text` shows to people. It stays as it is:
// certificates of earlier versions are known by it.
constexpr const char* kMark = "made by isthmus, which renews it";

std::int64_t unix_seconds(WallTime time) {
  return std::chrono::floor<std::chrono::seconds>(time).time_since_epoch().count();
}

bool is_address(const std::string& name) {
  ASN1_OCTET_STRING* bytes = a2i_IPADDRESS(name.c_str());
  ASN1_OCTET_STRING_free(bytes);
  ERR_clear_error();
  return bytes != nullptr;
}

// "DNS:a.example,IP:192.0.2.1" for OpenSSL's configuration language, whose separators therefore
// must not be part of a name.
Result<std::string> alternative_names(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    if (name.empty() || name.find_first_of(", \t\n;@=") != std::string::npos) {
      return fail(Outcome::invalid, "\"" + name + "\" is neither a DNS name nor an IP address");
    }
    text += (text.empty() ? "" : ",") + std::string(is_address(name) ? "IP:" : "DNS:") + name;
  }
  return text;
}

bool add_extension(X509* certificate, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, certificate, certificate, nullptr, nullptr, 0);
  const Extension extension(X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str()));
  return extension && X509_add_ext(certificate, extension.get(), -1) == 1;
}

bool set_serial(X509* certificate) {
  std::uint64_t serial = 0;
  if (RAND_bytes(reinterpret_cast<unsigned char*>(&serial), sizeof(serial)) != 1) return false;
  return ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate), serial >> 1) == 1;
}

bool set_name(X509* certificate, const std::string& common_name) {
  X509_NAME* name = X509_get_subject_name(certificate);
  const auto* text = reinterpret_cast<const unsigned char*>(common_name.data());
  return X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, text,
                                    static_cast<int>(common_name.size()), -1, 0) == 1 &&
         X509_set_issuer_name(certificate, name) == 1;
}

bool set_validity(X509* certificate, WallTime now) {
  const std::int64_t begin = unix_seconds(now - kSelfSignedBefore);
  const std::int64_t end = unix_seconds(now + kSelfSignedLife);
  return ASN1_TIME_set(X509_getm_notBefore(certificate), begin) != nullptr &&
         ASN1_TIME_set(X509_getm_notAfter(certificate), end) != nullptr;
}

// A certificate that is its own authority, so that a client may simply be given it to trust.
Certificate sign_own(EVP_PKEY* key, const std::string& common_name, const std::string& names,
                     WallTime now) {
  Certificate certificate(X509_new());
  X509* one = certificate.get();
  const bool done = one != nullptr && X509_set_version(one, X509_VERSION_3) == 1 &&
                    set_serial(one) && set_name(one, common_name) && set_validity(one, now) &&
                    X509_set_pubkey(one, key) == 1 &&
                    add_extension(one, NID_basic_constraints, "critical,CA:TRUE") &&
                    add_extension(one, NID_subject_key_identifier, "hash") &&
                    add_extension(one, NID_key_usage, "critical,digitalSignature,keyCertSign") &&
                    add_extension(one, NID_ext_key_usage, "serverAuth,clientAuth") &&
                    add_extension(one, NID_netscape_comment, kMark) &&
                    (names.empty() || add_extension(one, NID_subject_alt_name, names)) &&
                    X509_sign(one, key, EVP_sha256()) > 0;
  return done ? std::move(certificate) : nullptr;
}

// In whole seconds since 1970, which cannot overflow: years have four digits.
std::optional<std::int64_t> unix_seconds(const ASN1_TIME* time) {
  const Time epoch(ASN1_TIME_set(nullptr, 0));
  int days = 0;
  int seconds = 0;
  if (!epoch || ASN1_TIME_diff(&days, &seconds, epoch.get(), time) != 1) return std::nullopt;
  return std::int64_t{days} * 86'400 + seconds;
}

// Certificates that never end say 9999-12-31, which is more than nanoseconds can count to.
WallTime wall_time(std::int64_t seconds) {
  const std::int64_t first = unix_seconds(WallTime::min()) + 1;
  const std::int64_t last = unix_seconds(WallTime::max());
  return WallTime(std::chrono::seconds(std::clamp(seconds, first, last)));
}

bool carries_mark(X509* certificate) {
  const Comment comment(static_cast<ASN1_IA5STRING*>(
      X509_get_ext_d2i(certificate, NID_netscape_comment, nullptr, nullptr)));
  if (!comment) return false;
  const auto* text = reinterpret_cast<const char*>(ASN1_STRING_get0_data(comment.get()));
  return std::string_view(text, static_cast<std::size_t>(ASN1_STRING_length(comment.get()))) ==
         kMark;
}

}  // namespace

Result<CertificateTerm> term_of(const std::string& certificate_pem) {
  const Bio bio = reader(certificate_pem);
  const Certificate certificate(PEM_read_bio_X509(bio.get(), nullptr, no_passphrase, nullptr));
  if (!certificate) return fail(Outcome::invalid, "certificate: " + reason());
  const auto begin = unix_seconds(X509_get0_notBefore(certificate.get()));
  const auto end = unix_seconds(X509_get0_notAfter(certificate.get()));
  // Whoever issues certificates may copy a comment; a signature by its own key is not copied.
  const bool is_self_made =
      carries_mark(certificate.get()) && X509_self_signed(certificate.get(), 1) == 1;
  ERR_clear_error();
  if (!begin || !end) return fail(Outcome::invalid, "certificate: its times cannot be read");
  return CertificateTerm{
      .begin = wall_time(*begin), .end = wall_time(*end), .is_self_made = is_self_made};
}

Result<ServerTls> self_sign(Secret private_key_pem, const std::string& common_name,
                            const std::vector<std::string>& names, WallTime now) {
  const std::string alternatives = TRY(alternative_names(names));
  const Key key = TRY(read_key(private_key_pem, "private key"));
  const Certificate certificate = sign_own(key.get(), common_name, alternatives, now);
  if (!certificate) return fail(Outcome::invalid, "making a certificate: " + reason());
  const Bio pem(BIO_new(BIO_s_mem()));
  if (PEM_write_bio_X509(pem.get(), certificate.get()) != 1) {
    return fail(Outcome::lost, "writing a certificate: " + reason());
  }
  return ServerTls{.certificate_pem = written(pem.get()),
                   .private_key_pem = std::move(private_key_pem)};
}

}  // namespace isthmus::net
