// The real world: epoll, the kernel's clocks, its entropy, its files and its signals. Each
// subcommand makes exactly one and passes its doors on.
#pragma once

#include <memory>

#include "isthmus/base/files.h"
#include "isthmus/base/loop.h"
#include "isthmus/base/random.h"
#include "isthmus/base/task.h"

namespace isthmus::net {

class PosixWorld {
 public:
  PosixWorld();
  ~PosixWorld();
  PosixWorld(const PosixWorld&) = delete;
  PosixWorld& operator=(const PosixWorld&) = delete;

  Loop& loop();
  Random& random();  // getrandom(2).
  Files& files();

  // `int number = CO_TRY(co_await world.next_signal())`: the next SIGINT, SIGTERM or SIGHUP. The
  // first call takes these signals over from their default action; one waiter at a time.
  Task<Result<int>> next_signal();

  // For net/*.cc only: the reactor behind the loop (a boost::asio::io_context).
  struct Reactor;
  Reactor& reactor();

 private:
  std::unique_ptr<Reactor> reactor_;
};

}  // namespace isthmus::net
