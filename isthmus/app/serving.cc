#include "isthmus/app/serving.h"

#include "isthmus/base/file_stamp.h"
#include "isthmus/base/scope.h"

namespace isthmus::app {
namespace {

// A chain of ten certificates with long names stays far below this.
constexpr std::size_t kPemBytesMax = 1024 * 1024;
constexpr Duration kGeneratedLifetime = std::chrono::days(182);

}  // namespace

CertificateStamps stamps_of(Files& files, const CertificateFiles& paths) {
  return {stamp_of(files, paths.certificate), stamp_of(files, paths.private_key)};
}

Result<net::ServerTls> load_certificate(Files& files, const CertificateFiles& paths,
                                        const std::vector<std::string>& names, WallTime now) {
  if (paths.empty()) return net::make_self_signed("isthmus", names, now);
  net::ServerTls tls;
  tls.certificate_pem = TRY(files.read(paths.certificate, kPemBytesMax));
  tls.private_key_pem = Secret(TRY(files.read(paths.private_key, kPemBytesMax)));
  Result<> good = net::check(tls);
  if (!good) return fail(paths.certificate + " and " + paths.private_key, good.error());
  return tls;
}

Task<Result<>> keep_certificate_fresh(Files& files, const Clock& clock, CertificateFiles paths,
                                      CertificateStamps served, std::vector<std::string> names,
                                      net::HttpServer& server, Logger& log) {
  for (;;) {
    CO_TRY(co_await sleep_for(paths.empty() ? kGeneratedLifetime : kCertificateCheckPeriod));
    const CertificateStamps current = stamps_of(files, paths);
    if (!paths.empty() && current == served) continue;
    served = current;
    Result<net::ServerTls> tls = load_certificate(files, paths, names, clock.wall_now());
    Result<> replaced;
    if (tls) {
      replaced = server.replace_certificate(std::move(*tls));
    } else {
      replaced = std::unexpected(tls.error());
    }
    if (replaced) {
      log.info("serving certificate replaced", {{"file", paths.certificate}});
    } else {
      log.error("the old serving certificate stays", {{"error", replaced.error()}});
    }
  }
}

}  // namespace isthmus::app
