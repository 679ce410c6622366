// What `isthmus conformance` can be told: which cloud to test, with whose credentials, and with
// what the test may work.
#pragma once

#include <string>

#include "isthmus/app/flags.h"
#include "isthmus/app/status_options.h"
#include "isthmus/base/files.h"
#include "isthmus/base/mistakes.h"
#include "isthmus/cloud/conformance.h"

namespace isthmus::app {

struct ConformanceFlags {
  std::string url;  // Empty: kDefaultSocket.
  std::string ca_file;
  std::string token_file;
  std::string owner;             // Empty: whoever the token's owner is.
  std::string other_token_file;  // Of another owner; empty: what needs one is skipped.
  std::string pool;
  std::string families = "IPv4";  // Separated by commas, like the addresses.
  std::string target_addresses;
  std::string route_ranges;  // Likewise.
  Duration patience = std::chrono::seconds(30);
};

// The table that fills `flags`, which outlives it.
FlagTable conformance_flags(ConformanceFlags& flags);

// Whom to ask; mistakes are added and the files are not looked at.
StatusTarget conformance_target(Files& files, const ConformanceFlags& flags, Mistakes& mistakes);

// What the test is told; mistakes are added.
cloud::ConformanceOptions conformance_options(const ConformanceFlags& flags, Mistakes& mistakes);

}  // namespace isthmus::app
