// Doors around the API door. Each holds the next and does one thing; the wiring stacks them in one
// visible order, and a simulated API server gets the same stack:
//
//   HttpApi http(…);                   // speaks to the server
//   LeasedApi leased(http, life);      // writes only while we lead
//   PacedApi work(leased, budget, …);  // within a budget; outside, so that its wait comes first
//
// Every purpose has a stack of its own, so that none can use up another's budget. The elector's has
// no budget at all: a renewal never waits.
#pragma once

#include <memory>
#include <string>

#include "isthmus/base/clock.h"
#include "isthmus/base/metrics.h"
#include "isthmus/base/rate_limit.h"
#include "isthmus/base/result.h"
#include "isthmus/base/task.h"
#include "isthmus/kube/api_door.h"
#include "isthmus/kube/lease_life.h"

namespace isthmus::kube {

// Makes every call wait for its turn in a token bucket (--kube-api-qps, --kube-api-burst).
class PacedApi final : public ApiDoor {
 public:
  // `host` labels the metrics, as in client.h.
  PacedApi(ApiDoor& next, TokenBucket& budget, const Clock& clock, Metrics& metrics,
           const std::string& host = {});

  Task<Result<std::string>> get(ObjectName object) override;
  Task<Result<std::string>> list(ListRequest request) override;
  Task<Result<std::unique_ptr<WatchStream>>> watch(WatchRequest request) override;
  Task<Result<std::string>> create(CreateRequest request) override;
  Task<Result<std::string>> patch(PatchRequest request) override;
  Task<Result<>> remove(DeleteRequest request) override;

 private:
  Task<Result<>> turn(Histogram& waited);

  ApiDoor& next_;
  TokenBucket& budget_;
  const Clock& clock_;
  Histogram& waited_to_get_;
  Histogram& waited_to_post_;
  Histogram& waited_to_patch_;
  Histogram& waited_to_delete_;
};

// Lets create, patch and remove through only while the lease holds, and gives them no more time
// than was left of it when they were sent, whatever renewals follow. Not held: cancelled, with
// nothing sent. Out of that time: deadline, with the effect unknown.
class LeasedApi final : public ApiDoor {
 public:
  LeasedApi(ApiDoor& next, const LeaseLife& life) : next_(next), life_(life) {}

  Task<Result<std::string>> get(ObjectName object) override;
  Task<Result<std::string>> list(ListRequest request) override;
  Task<Result<std::unique_ptr<WatchStream>>> watch(WatchRequest request) override;
  Task<Result<std::string>> create(CreateRequest request) override;
  Task<Result<std::string>> patch(PatchRequest request) override;
  Task<Result<>> remove(DeleteRequest request) override;

 private:
  ApiDoor& next_;
  const LeaseLife& life_;
};

}  // namespace isthmus::kube
