// Takes in what may change of the configuration file while the program runs: owners, the
// administrator's token file and pools.
//
// The file is looked at every kConfigCheckPeriod and loaded when it has changed and then stayed the
// same for one period. A file with a mistake, or one that cannot be read, changes nothing: neither
// owners nor pools, every mistake is logged by line, and trouble() says so until the file is right
// again. Mistakes are those of the file itself, token files of new owners that cannot be used, and
// ranges of pools that cannot go because addresses of theirs are held.
//
// What needs a restart (listen, tls, store, inventory, host) and differs from what runs is named by
// restart_needed() and logged; the rest of the file is taken in all the same.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "isthmus/base/clock.h"
#include "isthmus/base/files.h"
#include "isthmus/base/log.h"
#include "isthmus/base/metrics.h"
#include "isthmus/base/result.h"
#include "isthmus/base/task.h"
#include "isthmus/infra/access.h"
#include "isthmus/infra/config.h"

namespace isthmus::infra {

inline constexpr Duration kConfigCheckPeriod = std::chrono::milliseconds(500);

// Where pools are kept.
class PoolKeeper {
 public:
  virtual ~PoolKeeper() = default;

  // Makes the pools as said, in one step, and answers the names of those that changed. invalid,
  // with a reason a line: a range that still holds addresses would go. Else an error of the store.
  // All leave the pools as they were.
  virtual Task<Result<std::vector<std::string>>> load_pools(std::vector<api::Pool> pools) = 0;
};

// Everything passed by reference or pointer outlives it.
class ConfigFile {
 public:
  // `running` is what the program was started with, which the file said then. `pools` is nullptr
  // where there is no host: pools then need a restart, as a host does.
  ConfigFile(Files& files, std::string path, Config running, Access& access, PoolKeeper* pools,
             const Clock& clock, Metrics& metrics, Logger& log);

  // Loads the file now, whatever it looked like before: at the start, so that the pools are there,
  // and on SIGHUP. invalid with every mistake; absent, denied or invalid when it cannot be read;
  // else the errors of the store. All leave everything as it was.
  Task<Result<>> load();

  // Loads the file whenever it changes. Ends with its scope only.
  Task<Result<>> keep_loaded();

  // Why owners and pools are not as the file says, in one line; nullopt while they are.
  const std::optional<std::string>& trouble() const { return trouble_; }

  // The keys of the file whose values wait for a restart.
  const std::vector<std::string>& restart_needed() const { return restart_needed_; }

 private:
  Task<Result<>> load_text();
  std::unexpected<Error> refused_pools(Error error);
  void report(const Result<>& result);

  Files& files_;
  const std::string path_;
  const Config running_;
  Access& access_;
  PoolKeeper* const pools_;
  const Clock& clock_;
  Logger& log_;
  Counter& loads_;
  Counter& refusals_;
  Gauge& last_success_;
  Gauge& mistakes_;
  Gauge& waiting_;

  std::optional<FileStamp> loaded_;  // What the last attempt saw, whether it went well or not.
  std::optional<FileStamp> seen_;    // What the last look saw.
  std::optional<std::string> trouble_;
  std::vector<std::string> restart_needed_;
  bool was_loaded_ = false;  // Once, so that there is something that stays.
  std::size_t mistake_count_ = 0;
};

}  // namespace isthmus::infra
