// The guard in the words of the contract: wraps each capability of a provider, and judges its
// answers. One about another thing than asked for is `lost`, whoever gave it, and so is a load
// balancer that is settled without an address. In a list such an item, one without a name or id and
// one that is there twice make the list partial; among news they end the stream.
#pragma once

#include <memory>
#include <string>

#include "isthmus/cloud/guard.h"
#include "isthmus/cloud/provider.h"

namespace isthmus::cloud {

// A provider behind a guard. A resource; offers what `next` offers.
class GuardedProvider final : public Provider {
 public:
  // `next` and the doors outlive it.
  GuardedProvider(Provider& next, GuardLimits limits, Loop& loop, Metrics& metrics, Logger& log);
  ~GuardedProvider() override;

  const std::string& name() const override { return next_.name(); }
  const std::string& scheme() const override { return next_.scheme(); }
  Capabilities capabilities() override;
  Task<Result<>> check() override;
  Guard& guard() { return guard_; }

 private:
  struct Guarded;

  Provider& next_;
  Guard guard_;
  std::unique_ptr<Guarded> guarded_;
};

}  // namespace isthmus::cloud
