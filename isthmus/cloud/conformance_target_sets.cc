#include "isthmus/cloud/conformance_impl.h"

#include <fmt/format.h>

namespace isthmus::cloud {
namespace {

using Needs = ConformanceCheck::Needs;

// None of the test's load balancers uses the set, and it is gone.
Task<Result<>> without_set(ConformanceBench& bench) {
  CO_TRY(co_await bench.gone(bench.first()));
  CO_TRY(co_await bench.gone(bench.second()));
  Result<> released = co_await bench.try_release_set(bench.set());
  if (released.outcome() == Outcome::unsupported) {
    co_return bench.skipped("the cloud has no target sets: " + released.error().message);
  }
  if (!released) co_return bench.failed_call("release of an unused target set", released.error());
  co_return released;
}

Task<Result<>> sends_to_a_set(ConformanceBench& bench) {
  CO_TRY(co_await without_set(bench));
  CO_TRY(co_await bench.ensure_set(bench.set_of(1)));
  CO_TRY(co_await bench.ensure_set(bench.set_of(1)));
  const LoadBalancerState by_set =
      CO_TRY(co_await bench.standing(bench.wish_by_set(bench.first())));
  CO_TRY(co_await bench.with_targets(bench.first(), 1));
  LoadBalancerSpec inline_ones = bench.wish(bench.first());
  for (const std::size_t number : {1, 2}) inline_ones.targets.push_back(bench.target(number));
  CO_TRY(co_await bench.standing(inline_ones));
  const LoadBalancerState by_itself = CO_TRY(co_await bench.with_targets(bench.first(), 3));
  if (by_itself.addresses != by_set.addresses) {
    co_return bench.failed("its addresses changed with its kind of targets",
                           "an address that is held never changes by itself");
  }
  CO_TRY(co_await bench.standing(bench.wish_by_set(bench.first())));
  CO_TRY(co_await bench.with_targets(bench.first(), 1));
  co_return {};
}

Task<Result<>> changes_all_users_at_once(ConformanceBench& bench) {
  CO_TRY(co_await bench.ensure_set(bench.set_of(1)));
  std::vector<LoadBalancerState> before;
  for (const std::string& name : {bench.first(), bench.second()}) {
    LoadBalancerState state = CO_TRY(co_await bench.standing(bench.wish_by_set(name)));
    before.push_back(std::move(state));
  }
  for (const std::size_t targets : {std::size_t{3}, std::size_t{0}, std::size_t{1}}) {
    CO_TRY(co_await bench.ensure_set(bench.set_of(targets)));
    for (const LoadBalancerState& was : before) {
      const LoadBalancerState now = CO_TRY(co_await bench.with_targets(was.name, targets));
      if (now.generation == was.generation && now.addresses == was.addresses) continue;
      co_return bench.failed("a changed target set changed what its load balancers are",
                             "what was asked for of them is the same: it raises no generation");
    }
  }
  co_return {};
}

Task<Result<>> foretells_a_set(ConformanceBench& bench) {
  using Effect = LoadBalancerPreview::Effect;
  CO_TRY(co_await without_set(bench));
  // The second time by an ensure: one that was written by its preview would be unchanged before.
  const std::vector<std::pair<std::size_t, Effect>> story{
      {2, Effect::created}, {2, Effect::unchanged}, {1, Effect::changed}};
  for (const auto& [targets, effect] : story) {
    for (int look = 0; look < 2; ++look) {
      const Result<TargetSetPreview> preview =
          co_await bench.try_preview_set(bench.set_of(targets));
      if (!preview) co_return bench.failed_call("preview of a target set", preview.error());
      if (preview->effect == effect) continue;
      co_return bench.failed("the preview of a target set is wrong about what ensure would do",
                             "answer created, changed or unchanged, and write nothing");
    }
    CO_TRY(co_await bench.ensure_set(bench.set_of(targets)));
  }
  co_return {};
}

Task<Result<>> keeps_a_used_set(ConformanceBench& bench) {
  CO_TRY(co_await bench.ensure_set(bench.set_of(2)));
  CO_TRY(co_await bench.standing(bench.wish_by_set(bench.first())));
  const Result<> refused = co_await bench.try_release_set(bench.set());
  if (refused.outcome() != Outcome::conflict) {
    co_return bench.failed(fmt::format("release of a target set in use was answered with {}",
                                       to_string(refused.outcome())),
                           "answer `conflict` while a load balancer uses it");
  }
  CO_TRY(co_await bench.with_targets(bench.first(), 2));
  CO_TRY(co_await without_set(bench));
  CO_TRY(co_await without_set(bench));
  co_return {};
}

}  // namespace

void add_target_set_checks(std::vector<ConformanceCheck>& checks) {
  const auto add = [&checks](std::string name, std::string sentence, auto run) {
    checks.push_back({std::move(name), std::move(sentence), Needs::target_sets, run});
  };
  add("targets-by-set", "Targets may be a shared set, then inline, then the set again",
      sends_to_a_set);
  add("set-changed", "A set that is changed once reaches all load balancers that use it",
      changes_all_users_at_once);
  add("set-preview", "A preview of a set foretells what ensure does, and writes nothing",
      foretells_a_set);
  add("set-in-use", "A set that is used is not released; unused it is, and again is ok",
      keeps_a_used_set);
}

}  // namespace isthmus::cloud
