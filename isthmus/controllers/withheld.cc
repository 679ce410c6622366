#include "isthmus/controllers/withheld.h"

#include <utility>

#include <fmt/format.h>

namespace isthmus::controllers {

void Withheld::hold(const cloud::ClusterUid& cluster, std::size_t count, const std::string& why) {
  gauge_.set(static_cast<double>(count));
  if (why_ == why) return;
  why_ = why;
  log_.warning("a removal is held back", {{"what", words_.what}, {"count", count}, {"why", why}});
  recorder_.warning({.api_version = "v1",
                     .kind = "Namespace",
                     .key = {.name = "kube-system"},
                     .uid = cluster.text()},
                    words_.reason, fmt::format("{} are kept ({}): {}", words_.what, count, why));
}

void Withheld::release() {
  if (!std::exchange(why_, {}).empty()) {
    log_.info("a removal is held back no longer", {{"what", words_.what}});
  }
  gauge_.set(0);
}

}  // namespace isthmus::controllers
