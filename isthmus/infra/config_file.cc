#include "isthmus/infra/config_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "isthmus/base/mistakes.h"
#include "isthmus/base/scope.h"
#include "isthmus/base/text.h"

namespace isthmus::infra {
namespace {

constexpr std::string_view kLoads = "infra_config_loads_total";
constexpr std::string_view kLoadsHelp = "How often the configuration file was loaded, by result.";

std::optional<FileStamp> stamp_of(Files& files, const std::string& path) {
  Result<FileStamp> stamp = files.stamp(path);
  return stamp ? std::optional(*stamp) : std::nullopt;
}

bool listens_elsewhere(const Config& left, const Config& right) {
  auto same = [](const net::ListenAddress& one, const net::ListenAddress& other) {
    return one.kind == other.kind && one.host_or_path == other.host_or_path &&
           one.port == other.port;
  };
  return !std::ranges::equal(left.listen, right.listen, same);
}

std::vector<std::string> waiting_for_restart(const Config& running, const Config& said,
                                             bool keeps_pools) {
  std::vector<std::string> keys;
  if (listens_elsewhere(running, said)) keys.emplace_back("listen");
  if (running.tls != said.tls) keys.emplace_back("tls");
  if (running.sqlite != said.sqlite) keys.emplace_back("store");
  if (running.inventory != said.inventory) keys.emplace_back("inventory");
  if (running.host != said.host) keys.emplace_back("host");
  if (!keeps_pools && running.pools != said.pools) keys.emplace_back("pools");
  return keys;
}

}  // namespace

ConfigFile::ConfigFile(Files& files, std::string path, Config running, Access& access,
                       PoolKeeper* pools, const Clock& clock, Metrics& metrics, Logger& log)
    : files_(files),
      path_(std::move(path)),
      running_(std::move(running)),
      access_(access),
      pools_(pools),
      clock_(clock),
      log_(log),
      loads_(metrics.counter(kLoads, kLoadsHelp, {{"result", "ok"}})),
      refusals_(metrics.counter(kLoads, kLoadsHelp, {{"result", "refused"}})),
      last_success_(
          metrics.gauge("infra_config_last_load_timestamp_seconds",
                        "When the configuration file was last loaded without a mistake.")),
      mistakes_(metrics.gauge("infra_config_mistakes",
                              "Mistakes in the configuration file as it is now; the last good "
                              "owners and pools are in force while there are any.")),
      waiting_(metrics.gauge("infra_config_restart_needed",
                             "Keys of the configuration file that differ from what runs and "
                             "need a restart.")) {}

Task<Result<>> ConfigFile::load_text() {
  mistake_count_ = 1;  // Whatever goes wrong; counted exactly where the file could be read.
  const std::string text = CO_TRY(files_.read(path_, kConfigBytesMax));
  Mistakes mistakes;
  const Config config = parse_config(text, path_, mistakes);
  if (mistakes.empty()) access_.check(config, mistakes);
  mistake_count_ = mistakes.count();
  CO_TRY(mistakes.result());

  // The pools go first, because they can still be refused; nothing of the owners can after check().
  std::vector<std::string> changed;
  if (pools_ != nullptr) {
    Result<std::vector<std::string>> loaded = co_await pools_->load_pools(config.pools);
    if (!loaded) co_return refused_pools(std::move(loaded).error());
    changed = std::move(*loaded);
  }
  access_.replace(config);
  restart_needed_ = waiting_for_restart(running_, config, pools_ != nullptr);
  log_.info("configuration loaded",
            {{"file", path_},
             {"owners", config.owners.size()},
             {"pools", config.pools.size()},
             {"pools_changed", fmt::format("{}", fmt::join(changed, " "))}});
  if (!restart_needed_.empty()) {
    log_.warning("part of the configuration needs a restart and is not in force",
                 {{"keys", fmt::format("{}", fmt::join(restart_needed_, " "))}});
  }
  co_return Result<>{};
}

// One reason a line, each with the file it is about.
std::unexpected<Error> ConfigFile::refused_pools(Error error) {
  mistake_count_ = 1;
  if (error.outcome == Outcome::lost) return std::unexpected(std::move(error));  // The store's.
  const std::string reasons = std::exchange(error.message, {});
  mistake_count_ = 0;
  for (std::string_view reason : split(reasons, '\n')) {
    std::string_view line_end = mistake_count_++ == 0 ? "" : "\n";
    error.message += fmt::format("{}{}: {}", line_end, path_, reason);
  }
  return std::unexpected(std::move(error));
}

void ConfigFile::report(const Result<>& result) {
  if (result) {
    was_loaded_ = true;
    mistakes_.set(0);
    waiting_.set(static_cast<double>(restart_needed_.size()));
    trouble_.reset();
    loads_.add();
    const std::chrono::duration<double> now = clock_.wall_now().time_since_epoch();
    last_success_.set(now.count());
    return;
  }
  mistakes_.set(static_cast<double>(mistake_count_));
  refusals_.add();
  const std::string& message = result.error().message;
  std::string_view first = std::string_view(message).substr(0, message.find('\n'));
  trouble_ = mistake_count_ > 1 ? fmt::format("{} mistakes, the first: {}", mistake_count_, first)
                                : std::string(first);
  const std::string_view what_now =
      was_loaded_ ? "configuration not loaded, the last good owners and pools stay"
                  : "configuration not loaded, nothing was started";
  for (std::string_view line : split(message, '\n')) {
    log_.error(what_now, {{"reason", line}});
  }
}

Task<Result<>> ConfigFile::load() {
  loaded_ = stamp_of(files_, path_);
  Result<> result = co_await load_text();
  // A load that our own end cut short says nothing about the file.
  if (!is_our_own(result.outcome())) report(result);
  co_return result;
}

Task<Result<>> ConfigFile::keep_loaded() {
  while (true) {
    CO_TRY(co_await sleep_for(kConfigCheckPeriod));
    std::optional<FileStamp> now = stamp_of(files_, path_);
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
