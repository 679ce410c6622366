// Keeps the machines as the inventory file says.
//
// The file is looked at every kInventoryCheckPeriod and loaded when it has changed and then stayed
// the same for one period, so that a file still being written is left alone. A file with a mistake,
// or one that cannot be read, changes nothing: the machines stay as they were, every mistake is
// logged by line, and trouble() says so until the file is right again.
#pragma once

#include <optional>
#include <string>

#include "isthmus/base/clock.h"
#include "isthmus/base/files.h"
#include "isthmus/base/log.h"
#include "isthmus/base/metrics.h"
#include "isthmus/base/mistakes.h"
#include "isthmus/base/result.h"
#include "isthmus/base/task.h"
#include "isthmus/infra/instances.h"

namespace isthmus::infra {

inline constexpr Duration kInventoryCheckPeriod = std::chrono::milliseconds(500);

// Everything passed by reference outlives it.
class InventoryFile {
 public:
  InventoryFile(Files& files, std::string path, Instances& instances, const Clock& clock,
                Metrics& metrics, Logger& log);

  // Loads the file now, whatever it looked like before: at the start, and on SIGHUP. invalid with
  // every mistake of the file; absent, denied or invalid when it cannot be read; else the errors of
  // the store. All leave the machines as they were.
  Task<Result<>> load();

  // Loads the file whenever it changes. Ends with its scope only.
  Task<Result<>> keep_loaded();

  // Why the machines are not as the file says, in one line; nullopt while they are.
  const std::optional<std::string>& trouble() const { return trouble_; }

 private:
  Task<Result<>> load_text();
  void report(const Result<>& result);
  void log_loaded(const Instances::Loaded& loaded);

  Files& files_;
  const std::string path_;
  Instances& instances_;
  const Clock& clock_;
  Logger& log_;
  Counter& loads_;
  Counter& refusals_;
  Gauge& last_success_;
  Gauge& mistakes_;

  std::optional<FileStamp> loaded_;  // What the last attempt saw, whether it went well or not.
  std::optional<FileStamp> seen_;    // What the last look saw.
  std::optional<std::string> trouble_;
  std::size_t mistake_count_ = 0;
};

}  // namespace isthmus::infra
