// A provider whose changes pass the gate of all changes (base/write_gate.h), while its answers do
// not. It stands inside the guard, so that the gate is asked after every wait for a turn.
#pragma once

#include <memory>
#include <string>

#include "isthmus/base/write_gate.h"
#include "isthmus/cloud/provider.h"

namespace isthmus::cloud {

// A resource; offers what `next` offers. Both arguments outlive it.
class GatedProvider final : public Provider {
 public:
  GatedProvider(Provider& next, WriteGate& gate);
  ~GatedProvider() override;

  const std::string& name() const override { return next_.name(); }
  const std::string& scheme() const override { return next_.scheme(); }
  Capabilities capabilities() override;
  Task<Result<>> check() override { return next_.check(); }

 private:
  struct Gated;

  Provider& next_;
  std::unique_ptr<Gated> gated_;
};

}  // namespace isthmus::cloud
