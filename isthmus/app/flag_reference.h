// The reference page of all flags, made of the very tables that read them.
#pragma once

#include <string>
#include <string_view>

#include "isthmus/app/flags.h"

namespace isthmus::app {

// Markdown: a heading `title` and a table for each group, in the order in which the groups appear.
// Flags without effect stand together at the end. Those that `besides` has as well are left out,
// and it is said that they are there.
std::string flag_section(std::string_view title, const FlagTable& table);
std::string flag_section(std::string_view title, const FlagTable& table, std::string_view besides,
                         const FlagTable& besides_table);

// The page: a section for each subcommand that has flags.
std::string flag_reference();

}  // namespace isthmus::app
