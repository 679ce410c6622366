#include "isthmus/app/certificate_keeper.h"

#include <utility>

#include "isthmus/base/scope.h"

namespace isthmus::app {
namespace {

// Renewed when less than a third of its life is left, as issuers do.
constexpr int kRenewalPart = 3;
// Warned of at a sixth: whoever renews it should have done so by then.
constexpr int kWarningPart = 6;

// In seconds, because a term may be longer than nanoseconds can count.
std::chrono::seconds unix_time(WallTime time) {
  return std::chrono::floor<std::chrono::seconds>(time.time_since_epoch());
}

bool has_less_left_than(int part, const net::CertificateTerm& term, WallTime now) {
  return unix_time(term.end) - unix_time(now) <
         (unix_time(term.end) - unix_time(term.begin)) / part;
}

}  // namespace

CertificateKeeper::CertificateKeeper(Files& files, const Clock& clock, Metrics& metrics,
                                     Logger& log, ServingCertificate first)
    : files_(files),
      clock_(clock),
      log_(log),
      expiration_(metrics.gauge("isthmus_serving_certificate_expiration_timestamp_seconds",
                                "When the certificate that is served ends.")),
      paths_(std::move(first.files)),
      is_made_there_(first.is_made_there),
      names_(std::move(first.names)),
      pair_(std::move(first.pair)),
      stamps_(pair_.stamps) {
  expiration_.set(static_cast<double>(unix_time(pair_.term.end).count()));
}

bool CertificateKeeper::is_valid(const net::CertificateTerm& term, WallTime now) {
  return term.begin <= now && now < term.end;
}

bool CertificateKeeper::is_due(const net::CertificateTerm& term, WallTime now) {
  return now < term.begin || has_less_left_than(kRenewalPart, term, now);
}

CertificateKeeper::Standing CertificateKeeper::standing(const net::CertificateTerm& term,
                                                        WallTime now) {
  if (now < term.begin) return Standing::not_yet;
  if (now >= term.end) return Standing::over;
  return has_less_left_than(kWarningPart, term, now) ? Standing::ends_soon : Standing::good;
}

Result<> CertificateKeeper::start() {
  look();
  if (unwritten_ && unwritten_->outcome == Outcome::absent) return std::unexpected(*unwritten_);
  return {};
}

Task<Result<>> CertificateKeeper::run() {
  for (;;) {
    CO_TRY(co_await sleep_for(kCertificateCheckPeriod));
    look();
  }
}

void CertificateKeeper::look() {
  read_changes();
  return_to_files();
  renew_if_due();
  tell_standing();
}

// What could not be read or served is tried again without a change of the files: the reason may
// have been a lack of file descriptors.
void CertificateKeeper::read_changes() {
  if (paths_.empty()) return;
  const CertificateStamps current = stamps_of(files_, paths_);
  const bool has_changed = current != stamps_;
  if (!has_changed && !unread_) return;
  stamps_ = current;
  Result<std::optional<ServingPair>> found = read_files();
  if (found && !*found) return unread_.reset();
  Result<> served = found ? serve_from_files(std::move(**found)) : std::unexpected(found.error());
  if (served) return;
  if (has_changed || unread_ != served.error()) {
    log_.error("the old serving certificate stays", {{"error", served.error()}});
  }
  unread_ = served.error();
}

// What could not be written over is good again without a change when a clock is set right.
void CertificateKeeper::return_to_files() {
  if (!is_made_there_ || is_from_files()) return;
  Result<std::optional<ServingPair>> found = find_pair(files_, paths_);
  if (!found || !*found || is_due((*found)->term, clock_.wall_now())) return;
  const Result<> served = serve_from_files(std::move(**found));
  if (!served) log_.error("the old serving certificate stays", {{"error", served.error()}});
}

Result<std::optional<ServingPair>> CertificateKeeper::read_files() {
  if (!is_made_there_) return TRY(load_pair(files_, paths_));
  std::optional<ServingPair> found = TRY(find_pair(files_, paths_));
  if (!found && is_from_files()) return fail(Outcome::absent, paths_.certificate + ": was removed");
  return found;
}

void CertificateKeeper::renew_if_due() {
  const WallTime now = clock_.wall_now();
  const bool is_ours = pair_.term.is_self_made && (paths_.empty() || is_made_there_);
  const bool is_unwritten = is_made_there_ && !is_from_files();
  if (!is_ours || (!is_due(pair_.term, now) && !is_unwritten)) return;
  Result<ServingPair> next = paths_.empty() ? new_pair(names_, now) : write_next(now);
  if (next) {
    unwritten_.reset();
  } else {
    if (unwritten_ != next.error()) {
      log_.warning("a serving certificate of ours cannot be written", {{"error", next.error()}});
    }
    unwritten_ = next.error();
    if (is_valid(pair_.term, now)) return;
    next = new_pair(names_, now);
  }
  Result<> served = next ? serve(std::move(*next)) : std::unexpected(next.error());
  if (served) {
    log_.info("serving certificate made", {{"file", is_from_files() ? paths_.certificate : ""},
                                           {"until", rfc3339(pair_.term.end)}});
  } else {
    log_.error("the old serving certificate stays", {{"error", served.error()}});
  }
}

// Looks again at what is there: only what we made is replaced.
Result<ServingPair> CertificateKeeper::write_next(WallTime now) {
  const std::optional<ServingPair> found = TRY(find_pair(files_, paths_));
  if (found && !found->term.is_self_made) {
    return fail(Outcome::conflict, paths_.certificate + ": is not one that we made");
  }
  ServingPair next = pair_;
  if (found) {
    next = TRY(renew_pair(*found, names_, now));
    TRY(files_.write(paths_.certificate, next.tls.certificate_pem, FileMode::world_readable));
  } else {
    if (is_due(next.term, now)) next = TRY(new_pair(names_, now));
    TRY(write_pair(files_, paths_, next.tls));
  }
  next.stamps = stamps_ = stamps_of(files_, paths_);
  unread_.reset();
  return next;
}

Result<> CertificateKeeper::serve(ServingPair pair) {
  for (net::HttpServer* server : servers_) TRY(server->replace_certificate(pair.tls));
  pair_ = std::move(pair);
  told_ = Standing::good;
  expiration_.set(static_cast<double>(unix_time(pair_.term.end).count()));
  return {};
}

Result<> CertificateKeeper::serve_from_files(ServingPair pair) {
  TRY(serve(std::move(pair)));
  stamps_ = pair_.stamps;
  unread_.reset();
  unwritten_.reset();
  log_.info("serving certificate replaced",
            {{"file", paths_.certificate}, {"until", rfc3339(pair_.term.end)}});
  return {};
}

void CertificateKeeper::tell_standing() {
  const Standing now = standing(pair_.term, clock_.wall_now());
  if (now == told_) return;
  told_ = now;
  const std::string from = rfc3339(pair_.term.begin);
  const std::string until = rfc3339(pair_.term.end);
  switch (now) {
    case Standing::good:
      return;
    case Standing::not_yet:
      return log_.warning("the serving certificate is not valid yet",
                          {{"file", paths_.certificate}, {"from", from}});
    case Standing::ends_soon:
      return log_.warning("the serving certificate ends soon",
                          {{"file", paths_.certificate}, {"until", until}});
    case Standing::over:
      return log_.error("the serving certificate has ended",
                        {{"file", paths_.certificate}, {"until", until}});
  }
}

}  // namespace isthmus::app
