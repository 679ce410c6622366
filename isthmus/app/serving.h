// The certificate of a server of ours: from files, which are read again when they change, or made
// on the spot.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "isthmus/base/clock.h"
#include "isthmus/base/files.h"
#include "isthmus/base/log.h"
#include "isthmus/base/result.h"
#include "isthmus/base/task.h"
#include "isthmus/net/http_server.h"
#include "isthmus/net/tls.h"

namespace isthmus::app {

// Both empty: one is made on the spot.
struct CertificateFiles {
  std::string certificate;
  std::string private_key;

  bool empty() const { return certificate.empty() && private_key.empty(); }
};

// Reads and checks the pair, or makes one for `names`, valid from `now`. The error names the file.
Result<net::ServerTls> load_certificate(Files& files, const CertificateFiles& paths,
                                        const std::vector<std::string>& names, WallTime now);

// By which a change of the pair is noticed. Taken before the pair is loaded.
using CertificateStamps = std::array<std::optional<FileStamp>, 2>;
CertificateStamps stamps_of(Files& files, const CertificateFiles& paths);

// Looks every kCertificateCheckPeriod whether the files changed, first since `served`, the stamps
// of the pair that the server has; and gives it the new pair. A bad pair is logged once and the old
// one stays; so a half-done rotation harms nobody. A pair made on the spot is made anew when half
// of its year is over. Runs until the scope is cancelled.
Task<Result<>> keep_certificate_fresh(Files& files, const Clock& clock, CertificateFiles paths,
                                      CertificateStamps served, std::vector<std::string> names,
                                      net::HttpServer& server, Logger& log);
inline constexpr Duration kCertificateCheckPeriod = std::chrono::seconds(30);

}  // namespace isthmus::app
