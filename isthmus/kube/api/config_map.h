// core/v1 ConfigMap: texts by key. binaryData is nothing that we use.
#pragma once

#include "isthmus/kube/api/meta.h"

namespace isthmus::kube {

struct ConfigMap {
  static constexpr ResourceType resource{"v1", "ConfigMap", "configmaps", true};

  ObjectMeta meta = {};
  StringMap data = {};

  friend bool operator==(const ConfigMap&, const ConfigMap&) = default;
};

}  // namespace isthmus::kube
