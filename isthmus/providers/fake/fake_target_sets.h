// Target sets of the cloud in memory. Its load balancers hear of a change at once.
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "isthmus/cloud/provider.h"
#include "isthmus/providers/fake/fake_calls.h"

namespace isthmus::providers::fake {

class FakeLoadBalancers;

// A resource.
class FakeTargetSets final : public cloud::TargetSets {
 public:
  FakeTargetSets(FakeCalls& calls, FakeLoadBalancers& users) : calls_(calls), users_(users) {}

  Task<Result<>> ensure(cloud::TargetSetSpec spec) override;
  Task<Result<>> release(std::string name) override;
  Task<Result<cloud::TargetSetPreview>> preview(cloud::TargetSetSpec spec) override;

  std::map<std::string, cloud::TargetSetSpec, std::less<>> standing;
  bool supported = true;  // Off: every answer is `unsupported`.

  std::size_t ensures = 0;
  std::size_t releases = 0;
  std::size_t previews = 0;
  std::size_t writes = 0;  // Calls of ensure that changed something.

 private:
  FakeCalls& calls_;
  FakeLoadBalancers& users_;
};

}  // namespace isthmus::providers::fake
