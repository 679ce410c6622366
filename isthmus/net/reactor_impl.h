// The reactor behind the real loop, for net/*.cc.
#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <memory>
#include <optional>

#include "isthmus/base/loop.h"
#include "isthmus/net/world_posix.h"

namespace isthmus::net {

// One thread, so asio needs no locks of its own.
inline constexpr int kAsioUnsafe = BOOST_ASIO_CONCURRENCY_HINT_UNSAFE;

struct PosixWorld::Reactor final : Driver {
  Reactor();
  ~Reactor() override;

  Moment now() override;
  WallTime wall_now() override;
  bool wait(std::optional<Moment> until) override;

  // Whether the process has stood still (it was frozen, or one turn took very long) and has not
  // looked at its timers since: a timer has been due for more than a second. Nobody knows then
  // whether what is under way may still be done.
  bool has_overslept();

  boost::asio::io_context io{kAsioUnsafe};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work;
  std::unique_ptr<Random> random;
  std::unique_ptr<Files> files;
  std::shared_ptr<boost::asio::signal_set> signals;  // Set by the first next_signal().
  std::optional<Moment> due;                         // The earliest timer, as of the last wait.
  Loop loop;  // Last, because it asks this driver for the time.
};

}  // namespace isthmus::net
