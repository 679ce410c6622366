#include "isthmus/infra/config_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "isthmus/base/mistakes.h"
#include "isthmus/base/text.h"

namespace isthmus::infra {
namespace {

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
                       PoolKeeper* pools, const Clock& clock, Metrics& metrics, Logger& log,
                       std::function<void()> taken_in)
    : WatchedFile(files, std::move(path),
                  {.metrics = "infra_config",
                   .file = "configuration file",
                   .kept = "the last good owners and pools are in force"},
                  clock, metrics, log),
      running_(std::move(running)),
      access_(access),
      pools_(pools),
      taken_in_(std::move(taken_in)),
      waiting_(metrics.gauge("infra_config_restart_needed",
                             "Keys of the configuration file that differ from what runs and "
                             "need a restart.")) {}

Task<Result<>> ConfigFile::load_text(std::size_t& mistakes) {
  const std::string text = CO_TRY(files().read(path(), kConfigBytesMax));
  Mistakes found;
  const Config config = parse_config(text, path(), found);
  if (found.empty()) access_.check(config, found);
  mistakes = found.count();
  CO_TRY(found.result());

  // The pools go first, because they can still be refused; nothing of the owners can after check().
  std::vector<std::string> changed;
  if (pools_ != nullptr) {
    Result<std::vector<std::string>> loaded = co_await pools_->load_pools(config.pools);
    if (!loaded) co_return refused_pools(std::move(loaded).error(), mistakes);
    changed = std::move(*loaded);
  }
  access_.replace(config);
  restart_needed_ = waiting_for_restart(running_, config, pools_ != nullptr);
  waiting_.set(static_cast<double>(restart_needed_.size()));
  was_loaded_ = true;
  log().info("configuration loaded",
             {{"file", path()},
              {"owners", config.owners.size()},
              {"pools", config.pools.size()},
              {"pools_changed", fmt::format("{}", fmt::join(changed, " "))}});
  if (!restart_needed_.empty()) {
    log().warning("part of the configuration needs a restart and is not in force",
                  {{"keys", fmt::format("{}", fmt::join(restart_needed_, " "))}});
  }
  if (taken_in_) taken_in_();
  co_return Result<>{};
}

// One reason a line, each with the file it is about.
std::unexpected<Error> ConfigFile::refused_pools(Error error, std::size_t& mistakes) const {
  mistakes = 1;
  if (error.outcome == Outcome::lost) return std::unexpected(std::move(error));  // The store's.
  const std::string reasons = std::exchange(error.message, {});
  mistakes = 0;
  for (std::string_view reason : split(reasons, '\n')) {
    std::string_view line_end = mistakes++ == 0 ? "" : "\n";
    error.message += fmt::format("{}{}: {}", line_end, path(), reason);
  }
  return std::unexpected(std::move(error));
}

std::string_view ConfigFile::refusal() const {
  return was_loaded_ ? "configuration not loaded, the last good owners and pools stay"
                     : "configuration not loaded, nothing was started";
}

}  // namespace isthmus::infra
