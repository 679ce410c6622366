// OpenSSL's objects with an owner, and its complaints as text; for the files that make and judge
// certificates.
#pragma once

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <memory>
#include <string>

#include "isthmus/base/result.h"
#include "isthmus/base/secret.h"

namespace isthmus::net::openssl {

using Bio = std::unique_ptr<BIO, decltype([](BIO* bio) { BIO_free(bio); })>;
using Certificate = std::unique_ptr<X509, decltype([](X509* one) { X509_free(one); })>;
using Key = std::unique_ptr<EVP_PKEY, decltype([](EVP_PKEY* key) { EVP_PKEY_free(key); })>;

inline Bio reader(const std::string& text) {
  return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

inline std::string written(BIO* bio) {
  char* text = nullptr;
  const long bytes = BIO_get_mem_data(bio, &text);
  return std::string(text, static_cast<std::size_t>(bytes));
}

// What OpenSSL complains about first; its queue is left empty, so that it cannot be taken for the
// complaint of a later call.
inline std::string reason() {
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  const char* text = code == 0 ? nullptr : ERR_reason_error_string(code);
  return text == nullptr ? "OpenSSL rejects it" : text;
}

// An encrypted key has nobody here who could be asked for its passphrase.
inline int no_passphrase(char*, int, int, void*) { return -1; }

// invalid, with `what` in front.
inline Result<Key> read_key(const Secret& pem, const std::string& what) {
  const Bio bio = reader(pem.reveal());
  Key key(PEM_read_bio_PrivateKey(bio.get(), nullptr, no_passphrase, nullptr));
  if (!key) {
    return fail(Outcome::invalid, what + ": no usable PEM private key in it (" + reason() +
                                      "); it must not be encrypted");
  }
  return key;
}

}  // namespace isthmus::net::openssl
