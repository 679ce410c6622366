#include "isthmus/infra/inventory_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "isthmus/infra/inventory.h"

namespace isthmus::infra {
namespace {

constexpr std::size_t kUidsLogged = 50;

std::string first_of(const std::vector<std::string>& uids) {
  std::size_t shown = std::min(uids.size(), kUidsLogged);
  std::string text = fmt::format("{}", fmt::join(uids.begin(), uids.begin() + shown, " "));
  if (uids.size() > shown) text += fmt::format(" and {} more", uids.size() - shown);
  return text;
}

}  // namespace

InventoryFile::InventoryFile(Files& files, std::string path, Instances& instances,
                             const Clock& clock, Metrics& metrics, Logger& log)
    : WatchedFile(files, std::move(path),
                  {.metrics = "infra_inventory",
                   .file = "inventory file",
                   .kept = "the last good one is served"},
                  clock, metrics, log),
      instances_(instances) {}

Task<Result<>> InventoryFile::load_text(std::size_t& mistakes) {
  std::string text = CO_TRY(files().read(path(), kInventoryBytesMax));
  YamlMistakes found;
  std::vector<InventoryLine> lines = parse_inventory(text, found);
  Instances::Loaded loaded;
  if (found.empty()) {
    loaded = CO_TRY(co_await instances_.load(std::move(lines), found));
  }
  if (found.empty()) {
    log_loaded(loaded);
    co_return Result<>{};
  }
  mistakes = found.count();
  co_return found.sorted(path()).result();
}

void InventoryFile::log_loaded(const Instances::Loaded& loaded) {
  log().info("inventory loaded", {{"file", path()},
                                  {"changed", loaded.changed.size()},
                                  {"unknown", loaded.unknown.size()},
                                  {"retired", loaded.retired.size()}});
  // Who looks for a machine that is no longer there finds when, and why, without guessing.
  if (!loaded.unknown.empty()) {
    log().warning("machines are no longer in the inventory: unknown from now on, not gone",
                  {{"uids", first_of(loaded.unknown)}});
  }
  if (!loaded.retired.empty()) {
    log().info("machines were retired", {{"uids", first_of(loaded.retired)}});
  }
}

}  // namespace isthmus::infra
