// core/v1 Namespace. The uid of kube-system is the cluster's identity; it is all we read of one.
#pragma once

#include "isthmus/kube/api/meta.h"

namespace isthmus::kube {

struct Namespace {
  static constexpr ResourceType resource{"v1", "Namespace", "namespaces", false};

  ObjectMeta meta = {};

  friend bool operator==(const Namespace&, const Namespace&) = default;
};

}  // namespace isthmus::kube
