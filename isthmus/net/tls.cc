#include "isthmus/net/tls.h"

#include <string_view>

#include "isthmus/base/text.h"
#include "isthmus/net/openssl_impl.h"
#include "isthmus/net/self_signed.h"

namespace isthmus::net {
namespace {

using namespace openssl;

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
  if (!clean_end) return fail(Outcome::invalid, what + ": " + reason());
  ERR_clear_error();
  if (certificates.empty()) return fail(Outcome::invalid, what + ": no PEM certificate in it");
  return certificates;
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
  const Key key(EVP_EC_gen("P-256"));
  const Bio pem(BIO_new(BIO_s_secmem()));
  const bool done = key && PEM_write_bio_PKCS8PrivateKey(pem.get(), key.get(), nullptr, nullptr, 0,
                                                         nullptr, nullptr) == 1;
  if (!done) return fail(Outcome::lost, "making a key: " + reason());
  return self_sign(Secret(written(pem.get())), common_name, names, now);
}

}  // namespace isthmus::net
