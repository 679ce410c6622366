#include "isthmus/app/lifecycle.h"

#include <csignal>
#include <optional>

#include "isthmus/base/scope.h"

namespace isthmus::app {
namespace {

// How long work whose scope has ended may take to notice: its waits have all been resumed.
constexpr Duration kReturnTime = std::chrono::milliseconds(200);

Task<Result<>> keep_answer(std::function<Task<Result<>>(Wishes&)>& work, Wishes& wishes,
                           std::optional<Result<>>& answer) {
  Result<> result = co_await work(wishes);
  answer = std::move(result);
  co_return Result<>{};
}

// Ends, and with it the patience of run_until_stopped, when there is nothing left to wait for.
Task<Result<>> obey_signals(net::PosixWorld& world, Logger& log, Duration grace, Scope& work_scope,
                            Scope& patience, Wishes& wishes) {
  for (;;) {
    const int number = CO_TRY(co_await world.next_signal());
    if (number == SIGHUP) {
      if (wishes.reload) wishes.reload();
      continue;
    }
    if (wishes.stopping.is_set()) {
      log.warning("stopping at once, being asked a second time");
      patience.cancel();
      co_return Result<>{};
    }
    log.info("stopping", {{"signal", number == SIGTERM ? "SIGTERM" : "SIGINT"}});
    wishes.stopping.set();
    work_scope.set_deadline(world.loop().now() + grace);
    patience.set_deadline(world.loop().now() + grace + kReturnTime);
  }
}

}  // namespace

Result<> run_until_stopped(net::PosixWorld& world, Logger& log, Duration grace,
                           std::function<Task<Result<>>(Wishes&)> work) {
  Loop& loop = world.loop();
  Wishes wishes;
  std::optional<Result<>> answer;
  Scope patience(loop);
  Scope work_scope(loop);
  patience.spawn(obey_signals, std::ref(world), std::ref(log), grace, std::ref(work_scope),
                 std::ref(patience), std::ref(wishes));
  work_scope.spawn(keep_answer, std::ref(work), std::ref(wishes), std::ref(answer));
  loop.run_until([&] { return work_scope.children() == 0 || patience.is_cancelled(); });
  if (answer) return *answer;
  return fail(Outcome::deadline, "stopped before everything had ended");
}

}  // namespace isthmus::app
