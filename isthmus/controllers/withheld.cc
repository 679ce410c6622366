#include "isthmus/controllers/withheld.h"

#include <utility>

#include <fmt/format.h>

#include "isthmus/controllers/pauses.h"

namespace isthmus::controllers {
namespace {

// Of an API server that cannot be asked each attempt says something else.
constexpr Duration kNewReasonAfter = std::chrono::minutes(10);

}  // namespace

void Withheld::hold(const cloud::ClusterUid& cluster, std::size_t count, const std::string& why) {
  gauge_.set(static_cast<double>(count));
  const Duration quiet = why_ == why ? kTellAgain : kNewReasonAfter;
  if (holds() && clock_.now() - told_at_ < quiet) return;
  why_ = why;
  told_at_ = clock_.now();
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
