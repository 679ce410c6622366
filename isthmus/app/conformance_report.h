// The conformance test for people: a line for each step, and what came of it all.
#pragma once

#include <string>

#include "isthmus/cloud/conformance.h"

namespace isthmus::app {

// "passed   ensure-twice        An ensure that is repeated creates nothing (0.3s)", and below it
// what was seen and what to do where it did not pass. Ends with a line feed.
std::string line_of(const cloud::ConformanceStep& step);

// How many passed, failed and were skipped, and what is left behind, by name. Likewise.
std::string summary_of(const cloud::ConformanceReport& report);

// The reference page of the steps, Markdown.
std::string conformance_reference();

}  // namespace isthmus::app
