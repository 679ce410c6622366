// Small helpers for text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace isthmus {

// The text as a JSON string literal with its quotes: control characters, quotes and backslashes
// escaped, and what is not UTF-8 replaced by U+FFFD, so that the result is one line of valid JSON
// whatever went in.
std::string quoted(std::string_view text);

// At most bytes_max bytes of the text, cut between characters, with "…" where something was cut.
std::string shortened(std::string_view text, std::size_t bytes_max);

// Without the spaces, tabs and line ends around it.
std::string_view trimmed(std::string_view text);

// The first line that is not blank, trimmed; empty when all are.
std::string_view first_line(std::string_view text);

// The parts between separators: n separators make n + 1 parts, some of which may be empty.
std::vector<std::string_view> split(std::string_view text, char separator);

}  // namespace isthmus
