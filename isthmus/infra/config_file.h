// Takes in what may change of the configuration file while the program runs: owners, the
// administrator's token file and pools.
//
// A file with a mistake, or one that cannot be read, changes nothing: neither owners nor pools.
// Mistakes are those of the file itself, token files of new owners that cannot be used, and ranges
// of pools that cannot go because addresses of theirs are held. When the file is looked at, and who
// is told of what is wrong with it, is watched_file.h's.
//
// What needs a restart (listen, tls, store, inventory, host) and differs from what runs is named by
// restart_needed() and logged; the rest of the file is taken in all the same.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "isthmus/infra/access.h"
#include "isthmus/infra/config.h"
#include "isthmus/infra/watched_file.h"

namespace isthmus::infra {

// Where pools are kept.
class PoolKeeper {
 public:
  virtual ~PoolKeeper() = default;

  // Makes the pools as said, in one step, and answers the names of those that changed. invalid,
  // with a reason a line: a range that still holds addresses would go. Else an error of the store.
  // All leave the pools as they were.
  virtual Task<Result<std::vector<std::string>>> load_pools(std::vector<api::Pool> pools) = 0;
};

// load() answers invalid with every mistake; absent, denied or invalid when the file cannot be
// read; else the errors of the store. It is called once before anything is served, so that the
// pools are there. Everything passed by reference or pointer outlives it.
class ConfigFile final : public WatchedFile {
 public:
  // `running` is what the program was started with, which the file said then. `pools` is nullptr
  // where there is no host: pools then need a restart, as a host does.
  // `taken_in` is called after each load that went well; may be empty.
  ConfigFile(Files& files, std::string path, Config running, Access& access, PoolKeeper* pools,
             const Clock& clock, Metrics& metrics, Logger& log,
             std::function<void()> taken_in = {});

  // The keys of the file whose values wait for a restart.
  const std::vector<std::string>& restart_needed() const { return restart_needed_; }

 private:
  Task<Result<>> load_text(std::size_t& mistakes) override;
  std::string_view refusal() const override;
  std::unexpected<Error> refused_pools(Error error, std::size_t& mistakes) const;

  const Config running_;
  Access& access_;
  PoolKeeper* const pools_;
  const std::function<void()> taken_in_;
  Gauge& waiting_;

  std::vector<std::string> restart_needed_;
  bool was_loaded_ = false;  // Once, so that there is something that stays.
};

}  // namespace isthmus::infra
