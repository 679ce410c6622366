#include "isthmus/providers/infra/watch_stream.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "isthmus/base/duration.h"
#include "isthmus/base/scope.h"

namespace isthmus::providers::infra {
namespace {

// So many lines are taken in before everybody else has a turn: some 50 µs each.
constexpr int kLinesAtOnce = 20;

}  // namespace

Task<Result<>> read_watch(net::LineReader& lines, WatchReader& reader) {
  Scope& scope = co_await current_scope();
  Moment silent_until = later(scope.loop().now(), kSilenceMax);
  for (int count = 1;; ++count) {
    const Moment until = std::min(silent_until, reader.due().value_or(silent_until));
    const Result<std::string> line = co_await with_deadline(until, lines.next());
    if (scope.is_cancelled()) co_return fail(scope.reason(), "no longer followed");
    const Moment now = scope.loop().now();
    if (line && line->empty()) co_return fail(Outcome::lost, "the watch has ended");
    if (line) {
      CO_TRY(reader.take(*line, now));
      silent_until = later(now, kSilenceMax);
    } else if (line.outcome() != Outcome::deadline) {
      co_return std::unexpected(line.error());
    } else if (now >= silent_until) {
      co_return fail(Outcome::lost,
                     fmt::format("the watch was silent for {}", format_duration(kSilenceMax)));
    }
    if (reader.due() && *reader.due() <= now) reader.on_due();
    if (count % kLinesAtOnce == 0) CO_TRY(co_await yield());
  }
}

}  // namespace isthmus::providers::infra
