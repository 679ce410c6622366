// From start to stop: runs a subcommand's work in the real world until it ends, or until a signal
// asks it to and it has left in order.
#pragma once

#include <functional>

#include "isthmus/base/clock.h"
#include "isthmus/base/log.h"
#include "isthmus/base/result.h"
#include "isthmus/base/signal.h"
#include "isthmus/base/task.h"
#include "isthmus/net/world_posix.h"

namespace isthmus::app {

// Exit codes, the same for every subcommand but `run`, which answers 1 for mistakes as well, since
// unit files and dashboards know upstream's manager so.
inline constexpr int kExitDone = 0;      // Ended as asked.
inline constexpr int kExitFailed = 1;    // Could not go on: lease lost, address in use.
inline constexpr int kExitMistaken = 2;  // Bad flags or configuration: nothing was started.

// What the work gets of the three seconds in which a stop is promised to be over. The manager
// drains, tells and releases in it (ManagerOptions), the backend ends its answers
// (net::ServerLimits::stop_timeout).
inline constexpr Duration kStopGrace = std::chrono::milliseconds(2700);

// What the outside wants of the work.
struct Wishes {
  Signal stopping;               // SIGTERM or SIGINT: finish, say last words, return ok.
  std::function<void()> reload;  // Set by work that does something on SIGHUP.
};

// Runs work(wishes) and answers what it answered. From the first SIGTERM or SIGINT it has `grace`
// to return; then its scope ends, and work that even so does not return, or a second signal,
// makes it be destroyed where it stands: the answer is `deadline`.
Result<> run_until_stopped(net::PosixWorld& world, Logger& log, Duration grace,
                           std::function<Task<Result<>>(Wishes&)> work);

}  // namespace isthmus::app
