// The layers around one provider, in the one order in which they make sense:
//
//   controllers → cache → guard → gate → provider
//
// The cache stands outside the guard, so that an answer from memory costs no token and works while
// the breaker is open; the guard stands outside the provider, so that everything which is sent is
// counted and limited, whoever sent it; the gate of all changes stands inside, so that it is asked
// after every wait.
#pragma once

#include <memory>
#include <optional>

#include "isthmus/cloud/cache.h"
#include "isthmus/cloud/gated_provider.h"
#include "isthmus/cloud/guarded_provider.h"

namespace isthmus::cloud {

// A resource; the doors outlive it, and it outlives all who call the cloud.
class Stack final {
 public:
  Stack(std::unique_ptr<Provider> provider, GuardLimits limits, WriteGate& gate, Loop& loop,
        Metrics& metrics, Logger& log)
      : provider_(std::move(provider)),
        gated_(*provider_, gate),
        guarded_(gated_, limits, loop, metrics, log) {
    if (Instances* instances = guarded_.capabilities().instances) {
      cache_.emplace(*instances, loop, metrics);
    }
  }

  // For everything that is not a question about machines.
  Provider& provider() { return guarded_; }

  // Null when the provider knows no machines.
  InstanceCache* instances() { return cache_ ? &*cache_ : nullptr; }

  Guard& guard() { return guarded_.guard(); }

 private:
  const std::unique_ptr<Provider> provider_;
  GatedProvider gated_;
  GuardedProvider guarded_;
  std::optional<InstanceCache> cache_;
};

}  // namespace isthmus::cloud
