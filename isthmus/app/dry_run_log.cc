#include "isthmus/app/dry_run_log.h"

#include <cstddef>

#include <fmt/format.h>

namespace isthmus::app {
namespace {

constexpr std::size_t kThingsMax = 10'000;

}  // namespace

void DryRunLog::write(const LogRecord& record) {
  if (record.level > Level::info) {
    next_.write(record);
    return;
  }
  if (record.level == Level::info && !is_news(record)) return;
  const std::string message = fmt::format("{} (dry run)", record.message);
  next_.write({record.level, message, record.fields, record.where});
}

bool DryRunLog::is_news(const LogRecord& record) {
  const std::size_t about = record.fields.empty() ? 0 : 1;
  const std::string thing = log_text({record.level, "", record.fields.first(about), record.where});
  const std::string words =
      log_text({record.level, "", record.fields.subspan(about), record.where});
  if (said_.size() >= kThingsMax) said_.clear();
  const auto [place, is_new] = said_.try_emplace({std::string(record.message), thing}, words);
  return is_new || std::exchange(place->second, words) != words;
}

}  // namespace isthmus::app
