// Chance, as a door: the real one draws from the kernel (net/world_posix.h), a test or simulator
// from a seed, so that a run can be repeated.
#pragma once

#include <cstdint>
#include <random>

#include "isthmus/base/clock.h"

namespace isthmus {

class Random {
 public:
  virtual ~Random() = default;

  // 64 uniformly random bits.
  virtual std::uint64_t next() = 0;

  // Uniform in [0, bound); bound must not be 0.
  std::uint64_t below(std::uint64_t bound);

  // Uniform in [low, high]; low must not be above high.
  Duration between(Duration low, Duration high);

  // A random version 4 UUID (RFC 9562), lower case with dashes.
  std::string uuid();
};

class SeededRandom final : public Random {
 public:
  explicit SeededRandom(std::uint64_t seed) : engine_(seed) {}
  std::uint64_t next() override { return engine_(); }

 private:
  std::mt19937_64 engine_;
};

}  // namespace isthmus
