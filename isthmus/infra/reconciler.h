// The loop between what should be (ledger.h) and this host (host.h): it makes load balancers true,
// keeps them true, and says how far that is.
//
// It is level-triggered. Whatever wakes it (the ledger changed, health changed, a probe ended, the
// kernel tells of others' changes, a retry is due, 30 s have passed), one pass takes everything
// that is due at once: a snapshot, a plan, one batch for the kernel, addresses, and one commit of
// the statuses that changed. A load balancer that fails stops nobody else and is tried again with
// backoff. Whom a change does not concern is not looked at. Route tables, of which there are few,
// are looked at in the same pass (route_keeper.h).
//
//   Reconciler reconciler({…});
//   CO_TRY(co_await reconciler.start());       // before the API serves
//   scope.spawn(&Reconciler::run, &reconciler);
#pragma once

#include <memory>
#include <vector>

#include "isthmus/base/log.h"
#include "isthmus/base/loop.h"
#include "isthmus/base/metrics.h"
#include "isthmus/base/random.h"
#include "isthmus/base/result.h"
#include "isthmus/base/task.h"
#include "isthmus/infra/balancer_resolution.h"
#include "isthmus/infra/balancer_view.h"
#include "isthmus/infra/drivers/address_probe.h"
#include "isthmus/infra/health_checker.h"
#include "isthmus/infra/host.h"
#include "isthmus/infra/ledger.h"

namespace isthmus::infra {

// How often the host is asked for what nobody tells, and read as a whole: what the kernel tells can
// get lost, and a link that went down takes things with it in silence.
inline constexpr Duration kHostPollPeriod = std::chrono::milliseconds(200);
inline constexpr Duration kHostDumpPeriod = std::chrono::seconds(30);
inline constexpr Duration kFlowWatchPeriod = std::chrono::seconds(10);
inline constexpr Duration kForwardingPeriod = std::chrono::seconds(1);

// A resource, one per host and process.
class Reconciler final : public BalancerView {
 public:
  // The references outlive the reconciler.
  struct Doors {
    Ledger& ledger;
    HealthChecker& health;
    Host& host;
    const Clock& clock;
    Random& random;
    Metrics& metrics;
    Logger& log;
    HostRole role;
    drivers::ProbeTiming probe = {};
  };

  explicit Reconciler(Doors doors);
  ~Reconciler() override;

  // Reads what the kernel holds, and tells the ledger what of it no store knows; changes nothing.
  // Errors of BalancerDriver::observe, AddressBook::observe, RouteBook::observe and the store; a
  // foreign table is none, because the conditions of the load balancers say it.
  Task<Result<>> start();

  // Reconciles until its scope ends, with that scope's reason; also makes the announcements. What
  // is in the kernel stays there. Called once, after start().
  Task<Result<>> run();

  // Whether everything that was there at start has been tried once.
  bool is_ready() const;

  // Of one that no store knows: nothing.
  std::vector<api::TargetStatus> target_health(const ObjectName& name) const override;

 private:
  class Inside;
  std::unique_ptr<Inside> inside_;
};

}  // namespace isthmus::infra
