// What a process tells about itself: the process_* metrics every Prometheus client library exports
// (memory, processor time, since when it runs; read from /proc at each scrape), and how long the
// event loop was busy without looking outside.
#pragma once

#include <optional>
#include <string_view>

#include "isthmus/base/files.h"
#include "isthmus/base/loop.h"
#include "isthmus/base/metrics.h"

namespace isthmus::app {

// What /proc/self/stat says, of it what we export (proc(5)).
struct ProcessStat {
  double cpu_seconds = 0;
  double resident_bytes = 0;
  double virtual_bytes = 0;
  double started_after_boot_seconds = 0;
};

// nullopt: not such a text. The second field, the program's name, may hold blanks and parentheses.
std::optional<ProcessStat> parse_process_stat(std::string_view text, double ticks_per_second,
                                              double page_bytes);

// The moment of boot in seconds since 1970, from /proc/stat; nullopt: not in there.
std::optional<double> parse_boot_time(std::string_view text);

// The limit of that name in /proc/self/limits, as in "Max open files"; infinity where it says
// "unlimited", nullopt where there is none.
std::optional<double> parse_soft_limit(std::string_view text, std::string_view name);

// Keeps them up to date for as long as it lives. The doors outlive it.
class ProcessMetrics {
 public:
  ProcessMetrics(Loop& loop, Files& files, Metrics& metrics);
  ~ProcessMetrics();
  ProcessMetrics(const ProcessMetrics&) = delete;
  ProcessMetrics& operator=(const ProcessMetrics&) = delete;

  // Since when the process runs, in seconds since 1970.
  double start_time();

 private:
  void refresh();
  void read_limits();

  Loop& loop_;
  Files& files_;
  Histogram& turns_;
  Counter& cpu_seconds_;
  Gauge& resident_bytes_;
  Gauge& virtual_bytes_;
  Gauge& virtual_bytes_max_;
  Gauge& files_max_;
  Gauge& start_time_;
  Metrics::OnCollect on_collect_;
};

}  // namespace isthmus::app
