#include "isthmus/net/tls.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string_view>

#include "isthmus/base/text.h"

namespace isthmus::net {
namespace {

using Bio = std::unique_ptr<BIO, decltype([](BIO* bio) { BIO_free(bio); })>;
using Certificate = std::unique_ptr<X509, decltype([](X509* one) { X509_free(one); })>;
using Key = std::unique_ptr<EVP_PKEY, decltype([](EVP_PKEY* key) { EVP_PKEY_free(key); })>;
using Extension = std::unique_ptr<X509_EXTENSION,
                                  decltype([](X509_EXTENSION* one) { X509_EXTENSION_free(one); })>;

constexpr Duration kSelfSignedBefore = std::chrono::hours(1);  // For clocks that are behind ours.
constexpr Duration kSelfSignedLife = std::chrono::hours(24 * 365);

Bio reader(const std::string& text) {
  return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

// What OpenSSL complains about first; its queue is left empty, so that it cannot be taken for the
// complaint of a later call.
std::string openssl_reason() {
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  return reason == nullptr ? "OpenSSL rejects it" : reason;
}

// An encrypted key has nobody here who could be asked for its passphrase.
int no_passphrase(char*, int, int, void*) { return -1; }

Result<std::vector<Certificate>> read_certificates(const std::string& pem,
                                                   const std::string& what) {
  std::vector<Certificate> certificates;
  const Bio bio = reader(pem);
  for (;;) {
    Certificate certificate(PEM_read_bio_X509(bio.get(), nullptr, no_passphrase, nullptr));
    if (!certificate) break;
    certificates.push_back(std::move(certificate));
  }
  // The end of the text also shows as an error: "no start line".
  const bool clean_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  if (!clean_end) return fail(Outcome::invalid, what + ": " + openssl_reason());
  ERR_clear_error();
  if (certificates.empty()) return fail(Outcome::invalid, what + ": no PEM certificate in it");
  return certificates;
}

Result<Key> read_key(const Secret& pem, const std::string& what) {
  const Bio bio = reader(pem.reveal());
  Key key(PEM_read_bio_PrivateKey(bio.get(), nullptr, no_passphrase, nullptr));
  if (!key) {
    return fail(Outcome::invalid, what + ": no usable PEM private key in it (" + openssl_reason() +
                                      "); it must not be encrypted");
  }
  return key;
}

Result<> check_pair(const std::string& certificate_pem, const Secret& key_pem) {
  const auto certificates = TRY(read_certificates(certificate_pem, "certificate"));
  const Key key = TRY(read_key(key_pem, "private key"));
  if (X509_check_private_key(certificates.front().get(), key.get()) != 1) {
    ERR_clear_error();
    return fail(Outcome::invalid, "private key: does not belong to the (first) certificate");
  }
  return {};
}

std::string written(BIO* bio) {
  char* text = nullptr;
  const long bytes = BIO_get_mem_data(bio, &text);
  return std::string(text, static_cast<std::size_t>(bytes));
}

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
                    (names.empty() || add_extension(one, NID_subject_alt_name, names)) &&
                    X509_sign(one, key, EVP_sha256()) > 0;
  return done ? std::move(certificate) : nullptr;
}

// The name becomes part of a URL, so anything else could lead a connection elsewhere.
bool is_host_name(std::string_view text) {
  constexpr std::string_view kAlphabet =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._:";
  return text.find_first_not_of(kAlphabet) == std::string_view::npos;
}

}  // namespace

Result<> check(const ClientTls& tls) {
  if (!is_host_name(tls.server_name)) {
    return fail(Outcome::invalid, "server name " + quoted(tls.server_name) +
                                      ": is neither a DNS name nor an IP address");
  }
  if (!tls.ca_pem.empty()) {
    const auto authorities = TRY(read_certificates(tls.ca_pem, "CA certificates"));
    ISTHMUS_ASSERT(!authorities.empty(), "none would have been an error");
  }
  if (tls.certificate_pem.empty() && tls.private_key_pem.empty()) return {};
  if (tls.certificate_pem.empty()) return fail(Outcome::invalid, "certificate: is missing");
  if (tls.private_key_pem.empty()) return fail(Outcome::invalid, "private key: is missing");
  return check_pair(tls.certificate_pem, tls.private_key_pem);
}

Result<> check(const ServerTls& tls) {
  if (tls.certificate_pem.empty()) return fail(Outcome::invalid, "certificate: is missing");
  if (tls.private_key_pem.empty()) return fail(Outcome::invalid, "private key: is missing");
  return check_pair(tls.certificate_pem, tls.private_key_pem);
}

Result<ServerTls> make_self_signed(const std::string& common_name,
                                   const std::vector<std::string>& names, WallTime now) {
  const std::string alternatives = TRY(alternative_names(names));
  const Key key(EVP_EC_gen("P-256"));
  if (!key) return fail(Outcome::lost, "making a key: " + openssl_reason());
  const Certificate certificate = sign_own(key.get(), common_name, alternatives, now);
  if (!certificate) return fail(Outcome::invalid, "making a certificate: " + openssl_reason());

  const Bio certificate_pem(BIO_new(BIO_s_mem()));
  const Bio key_pem(BIO_new(BIO_s_secmem()));
  const bool done = PEM_write_bio_X509(certificate_pem.get(), certificate.get()) == 1 &&
                    PEM_write_bio_PKCS8PrivateKey(key_pem.get(), key.get(), nullptr, nullptr, 0,
                                                  nullptr, nullptr) == 1;
  if (!done) return fail(Outcome::lost, "writing a certificate: " + openssl_reason());
  return ServerTls{.certificate_pem = written(certificate_pem.get()),
                   .private_key_pem = Secret(written(key_pem.get()))};
}

}  // namespace isthmus::net
