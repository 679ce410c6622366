#include "isthmus/app/conformance_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <string_view>

namespace isthmus::app {
namespace {

using Verdict = cloud::ConformanceStep::Verdict;

// Where the sentences begin: the longest name of a step has 27 letters.
constexpr int kNameWidth = 28;

double in_seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

std::string_view conclusion(const cloud::ConformanceReport& report) {
  if (report.broken_off) return "Broken off, because the cloud cannot be asked";
  return report.passed() ? "The contract is kept" : "The contract is NOT kept";
}

}  // namespace

std::string line_of(const cloud::ConformanceStep& step) {
  std::string text = fmt::format("{:<9}{:<{}}{} ({:.1f}s)\n", to_string(step.verdict), step.name,
                                 kNameWidth, step.checks, in_seconds(step.took));
  if (step.verdict == Verdict::passed) return text;
  if (!step.reason.empty()) text += fmt::format("         {}\n", step.reason);
  if (!step.next_step.empty()) text += fmt::format("         next: {}\n", step.next_step);
  return text;
}

std::string summary_of(const cloud::ConformanceReport& report) {
  std::string text = fmt::format("{}: {} passed, {} failed, {} skipped\n", conclusion(report),
                                 report.count(Verdict::passed), report.count(Verdict::failed),
                                 report.count(Verdict::skipped));
  if (!report.left.empty()) {
    text += fmt::format("Left behind, of the made-up cluster {}: {}\n", report.cluster,
                        fmt::join(report.left, ", "));
  }
  return text;
}

std::string conformance_reference() {
  std::string text =
      "# The conformance test\n\n"
      "`isthmus conformance --url URL --token-file FILE` tests whether a cloud that serves the\n"
      "infrastructure API keeps the contract that the manager relies on. It works with load "
      "balancers\n"
      "and a target set of its own, of a cluster that it makes up, and takes them away again. What "
      "a\n"
      "cloud may leave out is skipped and said. Where a step fails and the cloud then cannot be "
      "asked\n"
      "at all, the test is broken off. The exit code is 0 where the contract is kept, 2 after a "
      "mistake\n"
      "on the command line, else 1. These are its steps:\n\n"
      "| Step | What is true of a cloud that passes |\n| --- | --- |\n";
  for (const cloud::ConformanceStep& step : cloud::conformance_steps()) {
    text += fmt::format("| `{}` | {} |\n", step.name, step.checks);
  }
  return text;
}

}  // namespace isthmus::app
