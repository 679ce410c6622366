#include "isthmus/providers/fake/fake_calls.h"

#include <algorithm>

#include "isthmus/base/scope.h"

namespace isthmus::providers::fake {
namespace {

// Counts a call as long as it lasts, even one that is destroyed half-way.
class InFlight {
 public:
  explicit InFlight(FakeCalls& calls) : calls_(calls) {
    ++calls_.in_flight;
    calls_.most_in_flight = std::max(calls_.most_in_flight, calls_.in_flight);
  }
  ~InFlight() { --calls_.in_flight; }
  InFlight(const InFlight&) = delete;
  InFlight& operator=(const InFlight&) = delete;

 private:
  FakeCalls& calls_;
};

constexpr Duration kForever = std::chrono::hours(24 * 365);

}  // namespace

Task<Result<>> FakeCalls::suffer() {
  const InFlight counted(*this);
  if (faults.calls_until_limit) {
    if (*faults.calls_until_limit == 0) co_return fail(Outcome::busy, "slow down", faults.busy_for);
    --*faults.calls_until_limit;
  }
  const Duration delay = faults.silent ? kForever : faults.delay;
  if (delay > Duration::zero()) CO_TRY(co_await sleep_for(delay));
  if (!faults.error) co_return {};
  if (faults.errors) {
    if (*faults.errors == 0) co_return {};
    --*faults.errors;
  }
  co_return std::unexpected(*faults.error);
}

Result<> FakeCalls::deliver() {
  if (faults.answers_lost == 0) return {};
  --faults.answers_lost;
  return fail(Outcome::lost, "the connection was cut before the answer came");
}

}  // namespace isthmus::providers::fake
