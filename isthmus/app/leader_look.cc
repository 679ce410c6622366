#include "isthmus/app/leader_look.h"

#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "isthmus/base/scope.h"

namespace isthmus::app {
namespace {

constexpr Duration kEvery = std::chrono::seconds(5);

}  // namespace

Task<Result<>> LeaderLook::run() {
  for (;;) {
    CO_TRY(co_await look());
    CO_TRY(co_await sleep_for(kEvery));
  }
}

Task<Result<>> LeaderLook::look() {
  Result<std::string> answer = co_await api_.get({kube::Lease::resource, lease_});
  if (answer.outcome() == Outcome::cancelled) co_return std::unexpected(answer.error());
  std::string holder;
  if (answer.outcome() == Outcome::absent) {
    holder = "nobody: there is no Lease";
  } else if (!answer) {
    holder = fmt::format("unknown: {}: {}", to_string(answer.outcome()), answer.error().message);
  } else {
    const Result<kube::Lease> lease = decoder_.object<kube::Lease>(*answer, lease_);
    const std::string name = lease ? lease->spec.holder : "unknown: " + lease.error().message;
    holder = name.empty() ? "nobody: the Lease is free" : name;
  }
  if (told_ != holder) {
    log_.info("who leads", {{"lease", to_string(lease_)}, {"holder", holder}});
    told_ = std::move(holder);
  }
  co_return Result<>{};
}

}  // namespace isthmus::app
