#include "isthmus/app/process_metrics.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <vector>

namespace isthmus::app {
namespace {

// The two units are fixed on every Linux we run on (x86-64 and arm64 with 4 KiB pages); sysconf(3)
// would say the same.
constexpr double kTicksPerSecond = 100;
constexpr double kPageBytes = 4096;
constexpr std::size_t kProcFileBytesMax = 1024 * 1024;

std::optional<double> number(std::string_view text) {
  double value = 0;
  auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{}) return std::nullopt;
  return value;
}

}  // namespace

std::optional<ProcessStat> parse_process_stat(std::string_view text, double ticks_per_second,
                                              double page_bytes) {
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string_view::npos) return std::nullopt;
  text.remove_prefix(name_end + 1);
  std::vector<std::string_view> fields;  // The first is field 3 of proc(5), the state.
  while (!text.empty()) {
    const std::size_t begin = text.find_first_not_of(" \n");
    if (begin == std::string_view::npos) break;
    text.remove_prefix(begin);
    const std::size_t end = std::min(text.find_first_of(" \n"), text.size());
    fields.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  const auto field = [&](std::size_t number_in_manual) -> std::optional<double> {
    const std::size_t index = number_in_manual - 3;
    return index < fields.size() ? number(fields[index]) : std::nullopt;
  };
  const auto user = field(14);
  const auto system = field(15);
  const auto start = field(22);
  const auto virtual_bytes = field(23);
  const auto resident_pages = field(24);
  if (!user || !system || !start || !virtual_bytes || !resident_pages) return std::nullopt;
  return ProcessStat{.cpu_seconds = (*user + *system) / ticks_per_second,
                     .resident_bytes = *resident_pages * page_bytes,
                     .virtual_bytes = *virtual_bytes,
                     .started_after_boot_seconds = *start / ticks_per_second};
}

std::optional<double> parse_boot_time(std::string_view text) {
  constexpr std::string_view kLabel = "\nbtime ";
  const std::size_t at = text.find(kLabel);
  if (at == std::string_view::npos) return std::nullopt;
  return number(text.substr(at + kLabel.size()));
}

std::optional<double> parse_soft_limit(std::string_view text, std::string_view name) {
  const std::size_t at = text.find(name);
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view value = text.substr(at + name.size());
  value.remove_prefix(std::min(value.find_first_not_of(' '), value.size()));
  if (value.starts_with("unlimited")) return std::numeric_limits<double>::infinity();
  return number(value);
}

ProcessMetrics::ProcessMetrics(Loop& loop, Files& files, Metrics& metrics)
    : loop_(loop),
      files_(files),
      turns_(metrics.histogram("isthmus_loop_turn_seconds",
                               "How long the event loop was busy without looking outside.",
                               exponential_buckets(0.0001, 4, 8))),
      cpu_seconds_(metrics.counter("process_cpu_seconds_total",
                                   "Total user and system CPU time spent in seconds.")),
      resident_bytes_(
          metrics.gauge("process_resident_memory_bytes", "Resident memory size in bytes.")),
      virtual_bytes_(
          metrics.gauge("process_virtual_memory_bytes", "Virtual memory size in bytes.")),
      virtual_bytes_max_(metrics.gauge("process_virtual_memory_max_bytes",
                                       "Maximum amount of virtual memory available in bytes.")),
      files_max_(metrics.gauge("process_max_fds", "Maximum number of open file descriptors.")),
      start_time_(metrics.gauge("process_start_time_seconds",
                                "Start time of the process since unix epoch in seconds.")),
      on_collect_(metrics, [this] { refresh(); }) {
  read_limits();
  loop_.observe_turns([this](Duration busy) { turns_.observe(busy); });
}

ProcessMetrics::~ProcessMetrics() { loop_.observe_turns({}); }

double ProcessMetrics::start_time() {
  if (start_time_.value() == 0) refresh();
  return start_time_.value();
}

// Nobody changes them while we run.
void ProcessMetrics::read_limits() {
  Result<std::string> limits = files_.read("/proc/self/limits", kProcFileBytesMax);
  if (!limits) return;
  if (const auto bytes = parse_soft_limit(*limits, "Max address space")) {
    virtual_bytes_max_.set(*bytes);
  }
  if (const auto files = parse_soft_limit(*limits, "Max open files")) files_max_.set(*files);
}

void ProcessMetrics::refresh() {
  Result<std::string> self = files_.read("/proc/self/stat", kProcFileBytesMax);
  if (!self) return;
  const auto stat = parse_process_stat(*self, kTicksPerSecond, kPageBytes);
  if (!stat) return;
  cpu_seconds_.raise_to(stat->cpu_seconds);
  resident_bytes_.set(stat->resident_bytes);
  virtual_bytes_.set(stat->virtual_bytes);
  Result<std::string> system = files_.read("/proc/stat", kProcFileBytesMax);
  if (!system) return;
  const auto boot = parse_boot_time(*system);
  if (boot) start_time_.set(*boot + stat->started_after_boot_seconds);
}

}  // namespace isthmus::app
