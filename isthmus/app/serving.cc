#include "isthmus/app/serving.h"

#include <fmt/format.h>

#include <utility>

#include "isthmus/base/file_stamp.h"

namespace isthmus::app {
namespace {

// A chain of ten certificates with long names stays far below this.
constexpr std::size_t kPemBytesMax = 1024 * 1024;

// Files that change faster are not a rotation.
constexpr int kReadTries = 3;

// Of every certificate that we make.
constexpr const char* kCommonName = "isthmus";

bool exists(Files& files, const std::string& path) {
  return files.stamp(path).outcome() != Outcome::absent;
}

Result<ServingPair> with_term(net::ServerTls tls) {
  const net::CertificateTerm term = TRY(net::term_of(tls.certificate_pem));
  return ServingPair{.tls = std::move(tls), .term = term};
}

Result<ServingPair> read_pair(Files& files, const CertificateFiles& paths) {
  net::ServerTls tls;
  tls.certificate_pem = TRY(files.read(paths.certificate, kPemBytesMax));
  tls.private_key_pem = Secret(TRY(files.read(paths.private_key, kPemBytesMax)));
  Result<> good = net::check(tls);
  if (!good) return fail(paths.certificate + " and " + paths.private_key, good.error());
  Result<ServingPair> pair = with_term(std::move(tls));
  if (!pair) return fail(paths.certificate, pair.error());
  return pair;
}

bool is_self_made(Files& files, const std::string& path) {
  const Result<std::string> pem = files.read(path, kPemBytesMax);
  const Result<net::CertificateTerm> term = net::term_of(pem.value_or(""));
  return term && term->is_self_made;
}

}  // namespace

CertificateStamps stamps_of(Files& files, const CertificateFiles& paths) {
  return {stamp_of(files, paths.certificate), stamp_of(files, paths.private_key)};
}

Result<ServingPair> load_pair(Files& files, const CertificateFiles& paths) {
  for (int tries = 1;; ++tries) {
    const CertificateStamps stamps = stamps_of(files, paths);
    Result<ServingPair> pair = read_pair(files, paths);
    if (stamps_of(files, paths) != stamps && tries < kReadTries) continue;
    if (pair) pair->stamps = stamps;
    return pair;
  }
}

Result<ServingPair> new_pair(const std::vector<std::string>& names, WallTime now) {
  return with_term(TRY(net::make_self_signed(kCommonName, names, now)));
}

Result<ServingPair> renew_pair(const ServingPair& pair, const std::vector<std::string>& names,
                               WallTime now) {
  return with_term(TRY(net::self_sign(pair.tls.private_key_pem, kCommonName, names, now)));
}

Result<std::optional<ServingPair>> find_pair(Files& files, const CertificateFiles& paths) {
  const bool has_certificate = exists(files, paths.certificate);
  const bool has_key = exists(files, paths.private_key);
  if (has_certificate && has_key) return TRY(load_pair(files, paths));
  const bool is_unfinished = has_certificate && is_self_made(files, paths.certificate);
  if (is_unfinished || (!has_certificate && !has_key)) return std::nullopt;
  return fail(Outcome::invalid,
              fmt::format("{} is there without {}", has_key ? paths.private_key : paths.certificate,
                          has_key ? paths.certificate : paths.private_key));
}

Result<> write_pair(Files& files, const CertificateFiles& paths, const net::ServerTls& tls) {
  TRY(files.write(paths.certificate, tls.certificate_pem, FileMode::world_readable));
  Result<> written =
      files.write(paths.private_key, tls.private_key_pem.reveal(), FileMode::owner_only);
  if (!written) std::ignore = files.remove(paths.certificate);
  return written;
}

}  // namespace isthmus::app
