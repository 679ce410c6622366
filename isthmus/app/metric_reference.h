// The reference page of all metrics, of the manager and of the backend.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace isthmus::app {

struct MetricLine {
  std::string_view name;
  std::string_view kind;     // counter, gauge or histogram.
  std::string_view labels;   // Separated by commas.
  std::string_view meaning;  // As in # HELP.
};

// Sorted by name.
std::span<const MetricLine> manager_metrics();
std::span<const MetricLine> backend_metrics();

// The page, Markdown.
std::string metric_reference();

}  // namespace isthmus::app
