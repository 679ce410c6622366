// Long polls: an answer that waits until a load balancer is as its writer wants it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "isthmus/base/metrics.h"
#include "isthmus/base/result.h"
#include "isthmus/base/signal.h"
#include "isthmus/base/task.h"
#include "isthmus/infra/ledger.h"
#include "isthmus/infra/object_requests.h"
#include "isthmus/infra/store/store.h"
#include "isthmus/net/http_server.h"

namespace isthmus::infra {

// Each costs a connection, a coroutine and a look at one record for each commit: 256 looks of 1 µs.
inline constexpr std::size_t kWaitsMax = 256;

// Whether nothing is to be waited for any more: the condition is True for that generation or a
// later one; or waiting changes nothing, because the load balancer was not accepted, got no
// address, or leaves.
bool is_over(const LedgerSnapshot& snapshot, const BalancerRecord& record, const WaitRequest& wait,
             std::uint64_t generation);

// The store, the ledger and the metrics outlive it.
class BalancerWait {
 public:
  BalancerWait(Store& store, Ledger& ledger, Metrics& metrics);

  bool is_full() const { return waiting_ >= kWaitsMax; }

  // Ends when the wait is over, the load balancer is gone or the request's time has passed: true.
  // False: the client left before. Without a generation in the request, it is the one that stands
  // at first. cancelled: the server or the scope ends. Else an error of the store.
  Task<Result<bool>> wait(ObjectName name, WaitRequest wait, net::ResponseWriter& writer);

 private:
  Task<Result<>> look_until_over(ObjectName name, WaitRequest wait);
  Task<Result<>> wait_for_commit(Revision after);

  Store& store_;
  Ledger& ledger_;
  Gauge& waits_;
  std::size_t waiting_ = 0;
  Revision reached_ = 0;     // How far the store is known to have come.
  bool is_watched_ = false;  // One of all who wait watches the store for the others.
  Signal moved_;             // Wakes them.
};

}  // namespace isthmus::infra
