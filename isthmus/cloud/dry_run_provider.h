// A cloud that is only told what would be (`isthmus run --dry-run`): every question passes, and
// nothing that changes something does. What would be changed is asked of the cloud itself where it
// can say so (preview), else worked out from what it has, and logged, once for as long as the same
// is wanted again and again.
//
// Whoever ensures or releases is answered as if it had been done, and is shown it by every later
// answer for as long as the real thing stays as it was (imagination.h); so a controller that
// depends on its own work goes on. Refusals are the cloud's own: an ensure that it would refuse is
// refused. An address shown is the one that would be given if nothing else was asked for first.
//
// It stands directly around the provider, so that nobody reaches the cloud past it.
#pragma once

#include <memory>
#include <string>

#include "isthmus/base/log.h"
#include "isthmus/cloud/provider.h"

namespace isthmus::cloud {

// A resource; offers what `next` offers. The log outlives it.
class DryRunProvider final : public Provider {
 public:
  DryRunProvider(std::unique_ptr<Provider> next, Logger& log);
  ~DryRunProvider() override;

  const std::string& name() const override { return next_->name(); }
  const std::string& scheme() const override { return next_->scheme(); }
  Capabilities capabilities() override;
  Task<Result<>> check() override { return next_->check(); }

 private:
  struct Told;

  const std::unique_ptr<Provider> next_;
  const std::unique_ptr<Told> told_;
};

}  // namespace isthmus::cloud
