#include "isthmus/net/client_certificates.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

namespace isthmus::net {
namespace {

// Root, two between, and the client's own: more is nobody's design.
constexpr int kChainDepthMax = 4;

// 112 bits: RSA from 2048 bits on, no SHA-1.
constexpr int kSecurityLevel = 2;

// A group's name is as long as an object's at most; so many groups fit into a SubjectAccessReview.
constexpr std::size_t kNameBytesMax = 253;
constexpr std::size_t kOrganizationsMax = 100;

using Certificate = std::unique_ptr<X509, decltype([](X509* one) { X509_free(one); })>;
using Certificates =
    std::unique_ptr<STACK_OF(X509),
                    decltype([](STACK_OF(X509) * all) { sk_X509_pop_free(all, X509_free); })>;
using Verification =
    std::unique_ptr<X509_STORE_CTX,
                    decltype([](X509_STORE_CTX* one) { X509_STORE_CTX_free(one); })>;

std::unexpected<Error> not_believed(const std::string& why) {
  ERR_clear_error();
  return fail(Outcome::denied, "client certificate: " + why);
}

Certificate parse_der(const std::string& der) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(der.data());
  return Certificate(d2i_X509(nullptr, &bytes, static_cast<long>(der.size())));
}

// The value as UTF-8; nullopt: not one that may stand in a name.
std::optional<std::string> text_of(const X509_NAME_ENTRY* entry) {
  unsigned char* utf8 = nullptr;
  const int bytes = ASN1_STRING_to_UTF8(&utf8, X509_NAME_ENTRY_get_data(entry));
  if (bytes < 0) return std::nullopt;
  std::string text(reinterpret_cast<const char*>(utf8), static_cast<std::size_t>(bytes));
  OPENSSL_free(utf8);
  const bool has_control = std::ranges::any_of(
      text, [](char each) { return static_cast<unsigned char>(each) < 0x20 || each == 0x7f; });
  if (has_control || text.size() > kNameBytesMax) return std::nullopt;
  return text;
}

// Of several common names the last counts, as in Kubernetes.
Result<CertificateSubject> subject_of(const X509* certificate) {
  CertificateSubject subject;
  const X509_NAME* name = X509_get_subject_name(certificate);
  for (int i = 0; i < X509_NAME_entry_count(name); ++i) {
    const X509_NAME_ENTRY* entry = X509_NAME_get_entry(name, i);
    const int kind = OBJ_obj2nid(X509_NAME_ENTRY_get_object(entry));
    if (kind != NID_commonName && kind != NID_organizationName) continue;
    std::optional<std::string> text = text_of(entry);
    if (!text) return not_believed("a name in its subject cannot be used");
    if (kind == NID_commonName) {
      subject.common_name = std::move(*text);
    } else {
      subject.organizations.push_back(std::move(*text));
    }
  }
  if (subject.common_name.empty()) return not_believed("its subject has no common name");
  if (subject.organizations.size() > kOrganizationsMax) {
    return not_believed("its subject has too many organizations");
  }
  return subject;
}

}  // namespace

struct ClientAuthorities::Store {
  std::unique_ptr<X509_STORE, decltype([](X509_STORE* one) { X509_STORE_free(one); })> native;
};

ClientAuthorities::ClientAuthorities(std::shared_ptr<const Store> store)
    : store_(std::move(store)) {}

Result<ClientAuthorities> ClientAuthorities::parse(const std::string& pem) {
  auto store = std::make_shared<Store>();
  store->native.reset(X509_STORE_new());
  const std::unique_ptr<BIO, decltype([](BIO* bio) { BIO_free(bio); })> text(
      BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  int count = 0;
  for (;; ++count) {
    const Certificate one(PEM_read_bio_X509(text.get(), nullptr, nullptr, nullptr));
    if (!one) break;
    X509_STORE_add_cert(store->native.get(), one.get());
  }
  const bool clean_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  ERR_clear_error();
  if (!clean_end) return fail(Outcome::invalid, "a certificate in it cannot be read");
  if (count == 0) return fail(Outcome::invalid, "no PEM certificate in it");
  return ClientAuthorities(std::move(store));
}

Result<CertificateSubject> ClientAuthorities::verify(const std::vector<std::string>& chain,
                                                     WallTime now) const {
  if (chain.empty()) return not_believed("none was presented");
  const Certificate own = parse_der(chain.front());
  if (!own) return not_believed("it cannot be read");
  const Certificates others(sk_X509_new_null());
  for (std::size_t i = 1; i < chain.size(); ++i) {
    Certificate other = parse_der(chain[i]);
    if (other && sk_X509_push(others.get(), other.get()) > 0) std::ignore = other.release();
  }
  const Verification verification(X509_STORE_CTX_new());
  if (!verification ||
      X509_STORE_CTX_init(verification.get(), store_->native.get(), own.get(), others.get()) != 1) {
    return not_believed("it cannot be verified");
  }
  X509_STORE_CTX_set_purpose(verification.get(), X509_PURPOSE_SSL_CLIENT);
  X509_VERIFY_PARAM* rules = X509_STORE_CTX_get0_param(verification.get());
  X509_VERIFY_PARAM_set_flags(rules, X509_V_FLAG_PARTIAL_CHAIN);
  X509_VERIFY_PARAM_set_depth(rules, kChainDepthMax);
  X509_VERIFY_PARAM_set_auth_level(rules, kSecurityLevel);
  X509_VERIFY_PARAM_set_time(
      rules, std::chrono::floor<std::chrono::seconds>(now).time_since_epoch().count());
  if (X509_verify_cert(verification.get()) != 1) {
    const int error = X509_STORE_CTX_get_error(verification.get());
    return not_believed(X509_verify_cert_error_string(error));
  }
  return subject_of(own.get());
}

}  // namespace isthmus::net
