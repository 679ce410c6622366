#include "isthmus/infra/watched_file.h"

#include <fmt/format.h>

#include <utility>

#include "isthmus/base/file_stamp.h"
#include "isthmus/base/scope.h"
#include "isthmus/base/text.h"

namespace isthmus::infra {
namespace {

Counter& loads(Metrics& metrics, const WatchedFile::Words& words, std::string result) {
  return metrics.counter(fmt::format("{}_loads_total", words.metrics),
                         fmt::format("How often the {} was loaded, by result.", words.file),
                         {{"result", std::move(result)}});
}

}  // namespace

WatchedFile::WatchedFile(Files& files, std::string path, const Words& words, const Clock& clock,
                         Metrics& metrics, Logger& log)
    : files_(files),
      path_(std::move(path)),
      clock_(clock),
      log_(log),
      loads_(loads(metrics, words, "ok")),
      refusals_(loads(metrics, words, "refused")),
      last_success_(
          metrics.gauge(fmt::format("{}_last_load_timestamp_seconds", words.metrics),
                        fmt::format("When the {} was last loaded without a mistake.", words.file))),
      mistakes_(
          metrics.gauge(fmt::format("{}_mistakes", words.metrics),
                        fmt::format("Mistakes in the {} as it is now; {} while there are any.",
                                    words.file, words.kept))) {}

std::optional<FileStamp> WatchedFile::stamp() const { return stamp_of(files_, path_); }

void WatchedFile::report(const Result<>& result, std::size_t mistakes) {
  if (result) {
    mistakes_.set(0);
    trouble_.reset();
    loads_.add();
    const std::chrono::duration<double> now = clock_.wall_now().time_since_epoch();
    last_success_.set(now.count());
    return;
  }
  mistakes_.set(static_cast<double>(mistakes));
  refusals_.add();
  const std::string& message = result.error().message;
  std::string_view first = std::string_view(message).substr(0, message.find('\n'));
  trouble_ = mistakes > 1 ? fmt::format("{} mistakes, the first: {}", mistakes, first)
                          : std::string(first);
  for (std::string_view line : split(message, '\n')) {
    log_.error(refusal(), {{"reason", line}});
  }
}

Task<Result<>> WatchedFile::load() {
  loaded_ = stamp();
  std::size_t mistakes = 1;
  Result<> result = co_await load_text(mistakes);
  // A load that our own end cut short says nothing about the file.
  if (!is_our_own(result.outcome())) report(result, mistakes);
  co_return result;
}

Task<Result<>> WatchedFile::keep_loaded() {
  while (true) {
    CO_TRY(co_await sleep_for(kFileCheckPeriod));
    std::optional<FileStamp> now = stamp();
    bool settled = now == seen_;
    seen_ = now;
    if (!settled || now == loaded_) continue;
    Result<> result = co_await load();
    // The store may be back at the next look; a file that is wrong waits for its next change.
    bool try_again = result.outcome() == Outcome::lost || result.outcome() == Outcome::busy;
    if (try_again) loaded_.reset();
  }
}

}  // namespace isthmus::infra
