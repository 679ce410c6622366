// Counts what is open, for a limit and for a gauge.
#pragma once

#include <cstddef>

#include "isthmus/base/metrics.h"

namespace isthmus::infra {

// One more for as long as it lives. Both outlive it.
class Counted {
 public:
  Counted(std::size_t& count, Gauge& gauge) : count_(count), gauge_(gauge) {
    gauge_.set(static_cast<double>(++count_));
  }
  ~Counted() { gauge_.set(static_cast<double>(--count_)); }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

 private:
  std::size_t& count_;
  Gauge& gauge_;
};

}  // namespace isthmus::infra
