#include "isthmus/app/run_flags_impl.h"

#include <fmt/format.h>

#include "isthmus/kube/api/names.h"

namespace isthmus::app {

void add_safety_flags(FlagTable& table, SafetyFlags& flags) {
  table.text("safety-configmap", flags.config_map, "Safety flags",
             "Name of the ConfigMap in kube-system by which people stop all changes at once "
             "(stop-all-mutations: \"true\"), or acknowledge a breaker.");
}

void check_safety_flags(const SafetyFlags& flags, Mistakes& mistakes) {
  const Result<> good = kube::check_dns_subdomain(flags.config_map);
  if (good) return;
  mistakes.add("--safety-configmap",
               fmt::format("\"{}\": {}", flags.config_map, good.error().message));
}

}  // namespace isthmus::app
