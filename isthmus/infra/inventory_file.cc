#include "isthmus/infra/inventory_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "isthmus/base/scope.h"
#include "isthmus/base/text.h"
#include "isthmus/infra/inventory.h"

namespace isthmus::infra {
namespace {

constexpr std::string_view kLoads = "infra_inventory_loads_total";
constexpr std::string_view kLoadsHelp = "How often the inventory file was loaded, by result.";

constexpr std::size_t kUidsLogged = 50;

std::string first_of(const std::vector<std::string>& uids) {
  std::size_t shown = std::min(uids.size(), kUidsLogged);
  std::string text = fmt::format("{}", fmt::join(uids.begin(), uids.begin() + shown, " "));
  if (uids.size() > shown) text += fmt::format(" and {} more", uids.size() - shown);
  return text;
}

std::optional<FileStamp> stamp_of(Files& files, const std::string& path) {
  Result<FileStamp> stamp = files.stamp(path);
  return stamp ? std::optional(*stamp) : std::nullopt;
}

}  // namespace

InventoryFile::InventoryFile(Files& files, std::string path, Instances& instances,
                             const Clock& clock, Metrics& metrics, Logger& log)
    : files_(files),
      path_(std::move(path)),
      instances_(instances),
      clock_(clock),
      log_(log),
      loads_(metrics.counter(kLoads, kLoadsHelp, {{"result", "ok"}})),
      refusals_(metrics.counter(kLoads, kLoadsHelp, {{"result", "refused"}})),
      last_success_(metrics.gauge("infra_inventory_last_load_timestamp_seconds",
                                  "When the inventory file was last loaded without a mistake.")),
      mistakes_(metrics.gauge("infra_inventory_mistakes",
                              "Mistakes in the inventory file as it is now; the last good one is "
                              "served while there are any.")) {}

Task<Result<>> InventoryFile::load_text() {
  mistake_count_ = 1;  // Whatever goes wrong; counted exactly where the file could be read.
  std::string text = CO_TRY(files_.read(path_, kInventoryBytesMax));
  YamlMistakes found;
  std::vector<InventoryLine> lines = parse_inventory(text, found);
  Instances::Loaded loaded;
  if (found.empty()) {
    loaded = CO_TRY(co_await instances_.load(std::move(lines), found));
  }
  if (found.empty()) {
    mistake_count_ = 0;
    log_loaded(loaded);
    co_return Result<>{};
  }
  mistake_count_ = found.count();
  co_return found.sorted(path_).result();
}

void InventoryFile::log_loaded(const Instances::Loaded& loaded) {
  log_.info("inventory loaded", {{"file", path_},
                                 {"changed", loaded.changed.size()},
                                 {"unknown", loaded.unknown.size()},
                                 {"retired", loaded.retired.size()}});
  // Who looks for a machine that is no longer there finds when, and why, without guessing.
  if (!loaded.unknown.empty()) {
    log_.warning("machines are no longer in the inventory: unknown from now on, not gone",
                 {{"uids", first_of(loaded.unknown)}});
  }
  if (!loaded.retired.empty()) {
    log_.info("machines were retired", {{"uids", first_of(loaded.retired)}});
  }
}

void InventoryFile::report(const Result<>& result) {
  mistakes_.set(static_cast<double>(mistake_count_));
  if (result) {
    trouble_.reset();
    loads_.add();
    std::chrono::duration<double> now = clock_.wall_now().time_since_epoch();
    last_success_.set(now.count());
    return;
  }
  refusals_.add();
  const std::string& message = result.error().message;
  std::string_view first = std::string_view(message).substr(0, message.find('\n'));
  trouble_ = mistake_count_ > 1 ? fmt::format("{} mistakes, the first: {}", mistake_count_, first)
                                : std::string(first);
  for (std::string_view line : split(message, '\n')) {
    log_.error("inventory not loaded, the last good one stays", {{"reason", line}});
  }
}

Task<Result<>> InventoryFile::load() {
  loaded_ = stamp_of(files_, path_);
  Result<> result = co_await load_text();
  // A load that our own end cut short says nothing about the file.
  if (!is_our_own(result.outcome())) report(result);
  co_return result;
}

Task<Result<>> InventoryFile::keep_loaded() {
  while (true) {
    CO_TRY(co_await sleep_for(kInventoryCheckPeriod));
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
