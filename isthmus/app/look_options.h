// What the commands that look at a cluster once (`isthmus plan`, `isthmus explain`) have in common
// on the command line: words before the flags of run, and how the answer is printed.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "isthmus/app/flags.h"
#include "isthmus/base/mistakes.h"
#include "isthmus/kube/api/meta.h"

namespace isthmus::app {

// Adds --output and -o, which fill `output`.
void add_output_flags(FlagTable& table, std::string& output);
inline constexpr std::string_view kWhatToShow = "What to show";  // The group of these flags.

// The words before the first flag, taken out of the arguments.
std::vector<std::string> take_words(std::vector<std::string>& arguments);

// NAMESPACE/NAME of a Service, NAME of a Node. Nothing: it is none, which is a mistake.
std::optional<kube::ObjectKey> read_object_name(std::string_view kind, const std::string& word,
                                                Mistakes& mistakes);

// Prints both to standard error, if there are any; whether there were.
bool tell_mistakes(std::string_view command, const Mistakes& words, const Mistakes& flags);

}  // namespace isthmus::app
