// Routes of the cloud in memory, one by one: its imperative door.
#pragma once

#include <cstddef>
#include <set>

#include "isthmus/cloud/provider.h"
#include "isthmus/providers/fake/fake_calls.h"
#include "isthmus/providers/fake/fake_router.h"

namespace isthmus::providers::fake {

// A resource.
class FakeRoutes final : public cloud::Routes {
 public:
  FakeRoutes(FakeCalls& calls, FakeRouter& router) : calls_(calls), router_(router) {}

  Task<Result<cloud::Listing<cloud::RouteState>>> list() override;
  Task<Result<>> ensure(cloud::Route route) override;
  Task<Result<>> release(cloud::RouteState route) override;

  bool marks = true;           // Off: foreign routes cannot be told from ours.
  std::set<IpPrefix> refused;  // Destinations that will never do.

  std::size_t lists = 0;
  std::size_t ensures = 0;
  std::size_t releases = 0;
  std::size_t writes = 0;  // Calls that changed something.

 private:
  FakeCalls& calls_;
  FakeRouter& router_;
};

}  // namespace isthmus::providers::fake
