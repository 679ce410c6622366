// core/v1 ConfigMap: values by key, those of binaryData decoded among them; no key is in both.
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
