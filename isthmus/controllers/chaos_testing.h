// Random tests: one life of a controller among faults for each seed, until one of them goes wrong.
#pragma once

#include <cstdint>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace isthmus::controllers::testing {

// `Chaos` is made from a seed and has run().
template <class Chaos>
void live_through(std::uint64_t seeds) {
  for (std::uint64_t seed = 1; seed <= seeds && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Chaos chaos(seed);
    chaos.run();
  }
}

}  // namespace isthmus::controllers::testing
