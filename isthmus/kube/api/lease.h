// coordination.k8s.io/v1 Lease: who leads. Its times are never compared with our clock (a standby
// counts from when it *saw* the record change), so they stay text and are sent back unchanged.
#pragma once

#include <cstdint>
#include <string>

#include "isthmus/kube/api/meta.h"

namespace isthmus::kube {

struct LeaseSpec {
  std::string holder = {};  // holderIdentity; empty: free.
  std::int32_t duration_seconds = 0;
  std::string acquire_time = {};  // metav1.MicroTime: rfc3339_micro of base/clock.h. Empty: none.
  std::string renew_time = {};
  std::int32_t transitions = 0;

  friend bool operator==(const LeaseSpec&, const LeaseSpec&) = default;
};

struct Lease {
  static constexpr ResourceType resource{"coordination.k8s.io/v1", "Lease", "leases", true};

  ObjectMeta meta = {};
  LeaseSpec spec = {};

  // The whole object as it was answered, with what we do not know of it: a Lease is written back
  // as it was read (lease_update in patch.h). Empty of one that a watch or a list has shown.
  std::string document = {};

  friend bool operator==(const Lease&, const Lease&) = default;
};

}  // namespace isthmus::kube
