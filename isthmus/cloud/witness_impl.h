// What the sources of the witness share: witness.cc hears and asks, witness_verdict.cc decides.
#pragma once

#include <cstddef>

#include "isthmus/cloud/witness.h"

namespace isthmus::cloud {

// Nodes that are Ready besides this one.
inline std::size_t others_ready(const Census& census, const Subject& subject) {
  return census.ready - (subject.ready ? 1 : 0);
}

}  // namespace isthmus::cloud
