// The process_* metrics every Prometheus client library exports: how much memory and processor time
// this process has used, and since when it runs. Read from /proc at each scrape.
#pragma once

#include <optional>
#include <string_view>

#include "isthmus/base/files.h"
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

// Keeps the gauges up to date for as long as it lives.
class ProcessMetrics {
 public:
  ProcessMetrics(Files& files, Metrics& metrics);

 private:
  void refresh();

  Files& files_;
  Counter& cpu_seconds_;
  Gauge& resident_bytes_;
  Gauge& virtual_bytes_;
  Gauge& start_time_;
  Metrics::OnCollect on_collect_;
};

}  // namespace isthmus::app
