// Keeps a serving certificate good for as long as the process runs, which may be years.
//
// Files that change are read again. A bad pair is logged once and the old one stays, so that a
// half-done rotation harms nobody.
//
// A certificate that we made is renewed when a third of its life is left: in memory with a new key,
// in a directory of ours (--cert-dir) with the key that is there, so that one file is replaced and
// the two fit at every moment, whenever we are stopped. Where that cannot be written, which is
// logged once and tried again at every look, the old one is served until it ends, and then one that
// lives in memory, until what is in the directory is good again.
//
// Everybody else's are never touched. The log says once that such a certificate ends soon, when a
// sixth of its life is left (those who renew have done so at a third), and once that it has ended;
// the gauge isthmus_serving_certificate_expiration_timestamp_seconds always has the day.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "isthmus/app/serving.h"
#include "isthmus/base/log.h"
#include "isthmus/base/metrics.h"
#include "isthmus/base/task.h"
#include "isthmus/net/http_server.h"

namespace isthmus::app {

// What is served first, and where it belongs. A value.
struct ServingCertificate {
  CertificateFiles files;
  bool is_made_there = false;      // The files are in a directory in which we make a missing pair.
  std::vector<std::string> names;  // Of what we make.
  ServingPair pair;
};

// A resource; everything passed by reference outlives it.
class CertificateKeeper final {
 public:
  CertificateKeeper(Files& files, const Clock& clock, Metrics& metrics, Logger& log,
                    ServingCertificate first);

  // What is served now.
  const net::ServerTls& tls() const { return pair_.tls; }

  // A server that was given tls(), and gets what takes its place.
  void add(net::HttpServer& server) { servers_.push_back(&server); }

  // The first look, before anything is served: writes a pair that was made for a directory, renews
  // what is due. absent: there is no such directory.
  Result<> start();

  // Looks every kCertificateCheckPeriod until the scope is cancelled.
  Task<Result<>> run();

 private:
  // What a certificate's term means now.
  enum class Standing : std::uint8_t { good, not_yet, ends_soon, over };

  static bool is_valid(const net::CertificateTerm& term, WallTime now);
  static bool is_due(const net::CertificateTerm& term, WallTime now);
  static Standing standing(const net::CertificateTerm& term, WallTime now);

  // Whether the files hold what is served.
  bool is_from_files() const { return pair_.stamps.front().has_value(); }

  void look();
  void read_changes();
  void return_to_files();
  // nullopt: there is nothing, and never was.
  Result<std::optional<ServingPair>> read_files();
  void renew_if_due();
  Result<ServingPair> write_next(WallTime now);
  Result<> serve(ServingPair pair);
  Result<> serve_from_files(ServingPair pair);
  void tell_standing();

  Files& files_;
  const Clock& clock_;
  Logger& log_;
  Gauge& expiration_;
  std::vector<net::HttpServer*> servers_;

  const CertificateFiles paths_;
  const bool is_made_there_;
  const std::vector<std::string> names_;

  ServingPair pair_;          // What is served.
  CertificateStamps stamps_;  // Of the files when they were last read or written.
  Standing told_ = Standing::good;
  std::optional<Error> unread_;     // Why the files are not served.
  std::optional<Error> unwritten_;  // Why what we made is not in them.
};

inline constexpr Duration kCertificateCheckPeriod = std::chrono::seconds(30);

}  // namespace isthmus::app
