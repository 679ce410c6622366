// Doors around the API door. Each holds the next and does one thing; the wiring stacks them in one
// visible order, and a simulated API server gets the same stack:
//
//   HttpApi http(…);                  // speaks to the server
//   GatedApi gated(http, gate);       // writes only while we lead and nobody has said stop
//   PacedApi work(gated, budget, …);  // within a budget; outside, so that its wait comes first
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
#include "isthmus/base/write_gate.h"
#include "isthmus/kube/api_door.h"

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

// Sends create, patch and remove through the gate, and reads past it.
class GatedApi final : public ApiDoor {
 public:
  GatedApi(ApiDoor& next, WriteGate& gate) : next_(next), gate_(gate) {}

  Task<Result<std::string>> get(ObjectName object) override;
  Task<Result<std::string>> list(ListRequest request) override;
  Task<Result<std::unique_ptr<WatchStream>>> watch(WatchRequest request) override;
  Task<Result<std::string>> create(CreateRequest request) override;
  Task<Result<std::string>> patch(PatchRequest request) override;
  Task<Result<>> remove(DeleteRequest request) override;

 private:
  ApiDoor& next_;
  WriteGate& gate_;
};

}  // namespace isthmus::kube
