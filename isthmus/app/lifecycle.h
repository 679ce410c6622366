// From start to stop: runs a subcommand's work in the real world until it ends or a signal asks it
// to, then gives it a bounded time to leave in order.
#pragma once

#include <functional>

#include "isthmus/base/clock.h"
#include "isthmus/base/log.h"
#include "isthmus/base/result.h"
#include "isthmus/base/scope.h"
#include "isthmus/net/world_posix.h"

namespace isthmus::app {

// Exit codes, the same for every subcommand.
inline constexpr int kExitDone = 0;      // Ended as asked.
inline constexpr int kExitFailed = 1;    // Could not go on: lease lost, address in use.
inline constexpr int kExitMistaken = 2;  // Bad flags or configuration: nothing was started.

// What a work is given: the scope it runs in, which SIGTERM and SIGINT cancel, and the one in which
// last words (releasing a lease, flushing events) may still be said until the grace is over.
struct Lifetime {
  Scope& work;
  Uncancellable last_words;
  std::function<void()> reload;  // Set by the work if it has something to do on SIGHUP.
};

// Runs work(lifetime) to its end and answers what it answered. After a signal it is cancelled and
// has `grace` to end; past that, or on a second signal, it is destroyed where it stands, and the
// answer is `deadline`. An answer of `cancelled` after a signal is the orderly end, ok.
Result<> run_until_stopped(net::PosixWorld& world, Logger& logger, Duration grace,
                           std::function<Task<Result<>>(Lifetime&)> work);

}  // namespace isthmus::app
