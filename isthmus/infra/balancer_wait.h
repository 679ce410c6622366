// Long polls: an answer that waits until a load balancer is as its writer wants it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "isthmus/base/metrics.h"
#include "isthmus/base/result.h"
#include "isthmus/base/task.h"
#include "isthmus/infra/api/load_balancer.h"
#include "isthmus/infra/ledger.h"
#include "isthmus/infra/object_requests.h"
#include "isthmus/infra/store/store.h"
#include "isthmus/net/http_server.h"

namespace isthmus::infra {

// Each costs a connection, a coroutine and a look at the ledger for each of its changes: 256 looks
// of 30 µs are 8 ms.
inline constexpr std::size_t kWaitsMax = 256;

// Whether nothing is to be waited for any more: the condition is True for that generation or a
// later one; or waiting changes nothing, because the load balancer was not accepted, got no
// address, or leaves.
bool is_over(const api::LoadBalancer& balancer, const WaitRequest& wait, std::uint64_t generation);

// The store, the ledger, the clock and the metrics outlive it.
class BalancerWait {
 public:
  BalancerWait(Store& store, Ledger& ledger, const Clock& clock, Metrics& metrics);

  bool is_full() const { return waiting_ >= kWaitsMax; }

  // Ends, with the ledger as it then stands, when the wait is over, the load balancer is gone, or
  // the request's time has passed; with nullptr when the client left. cancelled: the server or the
  // scope ends. Else an error of the store.
  Task<Result<Ledger::Snapshot>> wait(ObjectName name, WaitRequest wait, std::uint64_t generation,
                                      net::ResponseWriter& writer);

 private:
  Task<Result<>> look_until_over(ObjectName name, WaitRequest wait, std::uint64_t generation,
                                 Ledger::Snapshot& seen);

  Store& store_;
  Ledger& ledger_;
  const Clock& clock_;
  Gauge& waits_;
  std::size_t waiting_ = 0;
};

}  // namespace isthmus::infra
