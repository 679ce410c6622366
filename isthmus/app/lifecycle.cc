#include "isthmus/app/lifecycle.h"

#include <csignal>
#include <optional>

namespace isthmus::app {
namespace {

// What the signal watcher and the runner tell each other.
struct Stop {
  bool asked = false;
  bool now = false;
};

Task<Result<>> keep_answer(std::function<Task<Result<>>(Lifetime&)>& work, Lifetime& lifetime,
                           std::optional<Result<>>& answer) {
  Result<> result = co_await work(lifetime);
  answer = std::move(result);
  co_return Result<>{};
}

Task<Result<>> watch_signals(net::PosixWorld& world, Logger& logger, Duration grace,
                             Scope& last_scope, Lifetime& lifetime, Stop& stop) {
  for (;;) {
    const int number = CO_TRY(co_await world.next_signal());
    if (number == SIGHUP) {
      if (lifetime.reload) lifetime.reload();
      continue;
    }
    if (stop.asked) {
      logger.warning("stopping at once", {{"reason", "asked a second time"}});
      stop.now = true;
      co_return Result<>{};
    }
    stop.asked = true;
    logger.info("stopping", {{"signal", number == SIGTERM ? "SIGTERM" : "SIGINT"}});
    last_scope.set_deadline(world.loop().now() + grace);
    lifetime.work.cancel();
  }
}

}  // namespace

Result<> run_until_stopped(net::PosixWorld& world, Logger& logger, Duration grace,
                           std::function<Task<Result<>>(Lifetime&)> work) {
  Loop& loop = world.loop();
  Stop stop;
  std::optional<Result<>> answer;
  Scope signal_scope(loop);
  Scope last_scope(loop);
  Scope work_scope(loop);
  Lifetime lifetime{work_scope, Uncancellable(last_scope), {}};
  signal_scope.spawn(watch_signals, std::ref(world), std::ref(logger), grace, std::ref(last_scope),
                     std::ref(lifetime), std::ref(stop));
  work_scope.spawn(keep_answer, std::ref(work), std::ref(lifetime), std::ref(answer));
  loop.run_until(
      [&] { return work_scope.children() == 0 || stop.now || last_scope.is_cancelled(); });
  if (!answer) {
    logger.warning("stopped before everything had ended", {{"grace", grace}});
    return fail(Outcome::deadline, "the time to stop in order is over");
  }
  if (stop.asked && answer->outcome() == Outcome::cancelled) return {};
  return *answer;
}

}  // namespace isthmus::app
