// What `isthmus status` can be told: where the backend is, who asks, and how to show the answer.
#pragma once

#include <string>

#include "isthmus/app/flags.h"
#include "isthmus/base/files.h"
#include "isthmus/base/mistakes.h"

namespace isthmus::app {

// Where `isthmus infra` listens unless it is told otherwise.
inline constexpr const char* kDefaultSocket = "/run/isthmus/infra.sock";

struct StatusOptions {
  std::string url;         // At most one of these three; none: kDefaultSocket.
  std::string socket;      // Path of a unix socket.
  std::string config;      // Path of the backend's own configuration file, on its machine.
  std::string ca_file;     // For https.
  std::string token_file;  // Empty: that of the configuration, or none.
  std::string output = "table";
  std::string owner;  // Empty: everybody whom the token lets see.
};

// The table that fills `options`, which outlives it.
FlagTable status_flags(StatusOptions& options);

// Whom to ask, with which files.
struct StatusTarget {
  std::string url;  // "unix:///…", "https://…", or "http://…" to this very machine.
  std::string ca_file;
  std::string token_file;

  friend bool operator==(const StatusTarget&, const StatusTarget&) = default;
};

// Every mistake of the choice and of the configuration is added; with one, nothing of the answer
// may be used. The other files are not looked at.
StatusTarget status_target(Files& files, const StatusOptions& options, Mistakes& mistakes);

}  // namespace isthmus::app
