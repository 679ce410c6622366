// A certificate authority for tests, which issues whatever is asked of it.
#pragma once

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "isthmus/base/clock.h"
#include "isthmus/base/secret.h"

namespace isthmus::net {

struct IssuedCertificate {
  std::string pem;
  Secret key_pem;
  std::string der;
};

class TestAuthority {
 public:
  struct Wish {
    std::string common_name = {};
    std::vector<std::string> organizations = {};
    std::string usage = "clientAuth";
    Duration life = std::chrono::hours(1);
    int rsa_bits = 0;  // 0: a key of an elliptic curve.
  };

  explicit TestAuthority(WallTime now) : now_(now), key_(EVP_EC_gen("P-256")) {
    certificate_ = make({.common_name = "test-authority", .usage = ""}, key_.get(), nullptr);
  }

  std::string pem() const { return pem_of(certificate_.get()); }

  IssuedCertificate issue(const Wish& wish) const {
    const Key key(wish.rsa_bits == 0 ? EVP_EC_gen("P-256") : rsa_key(wish.rsa_bits));
    const Certificate certificate = make(wish, key.get(), certificate_.get());
    const Bio key_text(BIO_new(BIO_s_mem()));
    PEM_write_bio_PKCS8PrivateKey(key_text.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr);
    unsigned char* der = nullptr;
    const int bytes = i2d_X509(certificate.get(), &der);
    IssuedCertificate issued{
        pem_of(certificate.get()), Secret(text_of(key_text.get())),
        std::string(reinterpret_cast<char*>(der), static_cast<std::size_t>(bytes))};
    OPENSSL_free(der);
    return issued;
  }

 private:
  using Bio = std::unique_ptr<BIO, decltype([](BIO* bio) { BIO_free(bio); })>;
  using Key = std::unique_ptr<EVP_PKEY, decltype([](EVP_PKEY* key) { EVP_PKEY_free(key); })>;
  using Certificate = std::unique_ptr<X509, decltype([](X509* one) { X509_free(one); })>;

  // Of five primes, because two large ones take long to find.
  static EVP_PKEY* rsa_key(int bits) {
    using Maker =
        std::unique_ptr<EVP_PKEY_CTX, decltype([](auto* one) { EVP_PKEY_CTX_free(one); })>;
    const Maker maker(EVP_PKEY_CTX_new_id(EVP_PKEY_RSA, nullptr));
    EVP_PKEY* key = nullptr;
    EVP_PKEY_keygen_init(maker.get());
    EVP_PKEY_CTX_set_rsa_keygen_bits(maker.get(), bits);
    EVP_PKEY_CTX_set_rsa_keygen_primes(maker.get(), 5);
    EVP_PKEY_keygen(maker.get(), &key);
    return key;
  }

  static std::string text_of(BIO* bio) {
    char* text = nullptr;
    const long bytes = BIO_get_mem_data(bio, &text);
    return std::string(text, static_cast<std::size_t>(bytes));
  }

  static std::string pem_of(X509* certificate) {
    const Bio text(BIO_new(BIO_s_mem()));
    PEM_write_bio_X509(text.get(), certificate);
    return text_of(text.get());
  }

  static void add_name(X509_NAME* name, const char* kind, const std::string& value) {
    X509_NAME_add_entry_by_txt(name, kind, MBSTRING_UTF8,
                               reinterpret_cast<const unsigned char*>(value.data()),
                               static_cast<int>(value.size()), -1, 0);
  }

  static void add_extension(X509* certificate, int kind, const std::string& value) {
    X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, kind, value.c_str());
    X509_add_ext(certificate, extension, -1);
    X509_EXTENSION_free(extension);
  }

  // No issuer: an authority of its own.
  Certificate make(const Wish& wish, EVP_PKEY* key, X509* issuer) const {
    Certificate certificate(X509_new());
    X509* one = certificate.get();
    X509_set_version(one, X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(one), issuer == nullptr ? 1 : 2);
    const auto seconds = std::chrono::floor<std::chrono::seconds>(now_.time_since_epoch()).count();
    const auto life = std::chrono::duration_cast<std::chrono::seconds>(wish.life).count();
    ASN1_TIME_set(X509_getm_notBefore(one), seconds - 60);
    ASN1_TIME_set(X509_getm_notAfter(one), seconds + (issuer == nullptr ? 1'000'000 : life));
    if (!wish.common_name.empty()) add_name(X509_get_subject_name(one), "CN", wish.common_name);
    for (const std::string& each : wish.organizations)
      add_name(X509_get_subject_name(one), "O", each);
    X509_set_issuer_name(one, X509_get_subject_name(issuer == nullptr ? one : issuer));
    X509_set_pubkey(one, key);
    if (issuer == nullptr) add_extension(one, NID_basic_constraints, "critical,CA:TRUE");
    if (!wish.usage.empty()) add_extension(one, NID_ext_key_usage, wish.usage);
    X509_sign(one, key_.get(), EVP_sha256());
    return certificate;
  }

  WallTime now_;
  Key key_;
  Certificate certificate_;
};

}  // namespace isthmus::net
