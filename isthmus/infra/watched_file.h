// A file of people's that is taken in whenever they change it: what the inventory file and the
// configuration file have in common.
//
// The file is looked at every kFileCheckPeriod and loaded when it has changed and then stayed the
// same for one period, so that a file still being written is left alone. A load that fails is
// logged by line and counted, and trouble() says so until the file is right again.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "isthmus/base/clock.h"
#include "isthmus/base/files.h"
#include "isthmus/base/log.h"
#include "isthmus/base/metrics.h"
#include "isthmus/base/result.h"
#include "isthmus/base/task.h"

namespace isthmus::infra {

inline constexpr Duration kFileCheckPeriod = std::chrono::milliseconds(500);

// A resource. Everything passed by reference outlives it.
class WatchedFile {
 public:
  // How people are told of it.
  struct Words {
    std::string_view metrics;  // What its metrics begin with: "infra_inventory".
    std::string_view file;     // "inventory file"
    std::string_view kept;     // Where there are mistakes: "the last good one is served".
  };

  WatchedFile(Files& files, std::string path, const Words& words, const Clock& clock,
              Metrics& metrics, Logger& log);
  virtual ~WatchedFile() = default;
  WatchedFile(const WatchedFile&) = delete;
  WatchedFile& operator=(const WatchedFile&) = delete;

  // Loads the file now, whatever it looked like before: at the start, and on SIGHUP. Errors are
  // those of load_text(); all leave everything as it was.
  Task<Result<>> load();

  // Loads the file whenever it changes. Ends with its scope only.
  Task<Result<>> keep_loaded();

  // Why things are not as the file says, in one line; nullopt while they are.
  const std::optional<std::string>& trouble() const { return trouble_; }

 protected:
  // Reads the file and makes things as it says, or changes nothing: lost and busy are tried again
  // at the next look, anything else waits for the file's next change. An error's message has a line
  // for each mistake; how many they are is `mistakes`, which is 1 at first.
  virtual Task<Result<>> load_text(std::size_t& mistakes) = 0;

  // What stands in the log before each line of a load that failed.
  virtual std::string_view refusal() const = 0;

  Files& files() { return files_; }
  const std::string& path() const { return path_; }
  Logger& log() { return log_; }

 private:
  std::optional<FileStamp> stamp() const;
  void report(const Result<>& result, std::size_t mistakes);

  Files& files_;
  const std::string path_;
  const Clock& clock_;
  Logger& log_;
  Counter& loads_;
  Counter& refusals_;
  Gauge& last_success_;
  Gauge& mistakes_;

  std::optional<FileStamp> loaded_;  // What the last attempt saw, whether it went well or not.
  std::optional<FileStamp> seen_;    // What the last look saw.
  std::optional<std::string> trouble_;
};

}  // namespace isthmus::infra
