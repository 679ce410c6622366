// A test that cannot fail is none: each of these clouds has one bug in what it does in a load
// balancer's life, and the conformance test must see it.
#include <vector>

#include <gtest/gtest.h>

#include "isthmus/cloud/conformance_testing.h"

namespace isthmus::cloud {
namespace {

using Spec = LoadBalancerSpec;
using Preview = LoadBalancerPreview;

// One more each time an equal one is ensured; it stands in the list only, as in clouds where names
// are not unique.
Task<Result<Balancers>> list_doubled(FakeProvider& cloud) {
  Balancers all = CO_TRY(co_await cloud.load_balancers.list());
  const bool was_ensured_again = cloud.load_balancers.ensures > cloud.load_balancers.writes;
  if (was_ensured_again && !all.items.empty()) all.items.push_back(all.items.front());
  co_return all;
}

Task<Result<Balancer>> ensure_without_labels(FakeProvider& cloud, Spec spec) {
  spec.labels.clear();
  Balancer state = CO_TRY(co_await cloud.load_balancers.ensure(std::move(spec)));
  co_return state;
}

Task<Result<Balancer>> ensure_elsewhere(FakeProvider& cloud, Spec spec) {
  const std::string name = spec.name;
  Balancer state = CO_TRY(co_await cloud.load_balancers.ensure(std::move(spec)));
  std::vector<IpAddress>& addresses = cloud.load_balancers.standing.at(name).addresses;
  if (!addresses.empty()) ++addresses[0].bytes[1];
  co_return cloud.load_balancers.state_of(name);
}

Task<Result<Balancer>> ensure_and_write(FakeProvider& cloud, Spec spec) {
  const std::string name = spec.name;
  CO_TRY(co_await cloud.load_balancers.ensure(std::move(spec)));
  cloud.load_balancers.touched(name, true);
  co_return cloud.load_balancers.state_of(name);
}

Task<Result<Balancer>> ensure_and_rewrite(FakeProvider& cloud, Spec spec) {
  const std::string name = spec.name;
  CO_TRY(co_await cloud.load_balancers.ensure(std::move(spec)));
  cloud.load_balancers.touched(name);
  co_return cloud.load_balancers.state_of(name);
}

Task<Result<>> release_says_ok(FakeProvider& cloud, std::string name) {
  const Result<> release = co_await cloud.load_balancers.release(std::move(name));
  if (release.outcome() == Outcome::busy) co_return {};
  co_return release;
}

Task<Result<>> release_says_absent(FakeProvider& cloud, std::string name) {
  if (!cloud.load_balancers.standing.contains(name)) co_return fail(Outcome::absent, "404");
  const Result<> release = co_await cloud.load_balancers.release(std::move(name));
  co_return release;
}

Task<Result<>> release_settled_only(FakeProvider& cloud, std::string name) {
  const auto found = cloud.load_balancers.standing.find(name);
  if (found != cloud.load_balancers.standing.end() && !found->second.settled &&
      !found->second.gone_at) {
    co_return fail(Outcome::conflict, "it is being made");
  }
  const Result<> release = co_await cloud.load_balancers.release(std::move(name));
  co_return release;
}

Task<Result<>> release_never_ends(FakeProvider&, std::string) {
  co_return fail(Outcome::busy, "soon");
}

Task<Result<Balancer>> get_nothing(FakeProvider&, std::string) {
  co_return fail(Outcome::absent, "404");
}

Task<Result<Balancer>> get_lost(FakeProvider& cloud, std::string name) {
  Result<Balancer> got = co_await cloud.load_balancers.get(std::move(name));
  if (got.outcome() == Outcome::absent) co_return fail(Outcome::lost, "some 404");
  co_return got;
}

Task<Result<Balancer>> get_another(FakeProvider& cloud, std::string name) {
  Result<Balancer> got = co_await cloud.load_balancers.get(std::move(name));
  if (got) got->name += "x";
  co_return got;
}

Task<Result<Balancer>> get_unsettled(FakeProvider& cloud, std::string name) {
  Result<Balancer> got = co_await cloud.load_balancers.get(std::move(name));
  if (got) got->settled = false;
  co_return got;
}

// Comes back in the answer only.
Task<Result<Balancer>> ensure_leaving(FakeProvider& cloud, Spec spec) {
  const auto found = cloud.load_balancers.standing.find(spec.name);
  if (found != cloud.load_balancers.standing.end() && found->second.gone_at) {
    co_return cloud.load_balancers.state_of(spec.name);
  }
  Balancer state = CO_TRY(co_await cloud.load_balancers.ensure(std::move(spec)));
  co_return state;
}

Task<Result<Balancer>> ensure_without_twins(FakeProvider& cloud, Spec spec) {
  if (spec.listeners.size() == 2 && spec.listeners[0].port == spec.listeners[1].port) {
    spec.listeners.pop_back();
  }
  Balancer state = CO_TRY(co_await cloud.load_balancers.ensure(std::move(spec)));
  co_return state;
}

Task<Result<Balancer>> ensure_in_vain(FakeProvider& cloud, Spec spec) {
  Result<Balancer> state = co_await cloud.load_balancers.ensure(std::move(spec));
  if (state.outcome() == Outcome::invalid) co_return fail(Outcome::conflict, "try again");
  co_return state;
}

Task<Result<Balancer>> ensure_by_halves(FakeProvider& cloud, Spec spec) {
  const std::string name = spec.name;
  Result<Balancer> state = co_await cloud.load_balancers.ensure(std::move(spec));
  if (state.outcome() == Outcome::invalid) cloud.load_balancers.touched(name, true);
  co_return state;
}

// Begins and forgets when nobody waits for the answer.
Task<Result<Balancer>> ensure_for_who_waits(FakeProvider& cloud, Spec spec) {
  const Result<> waited = co_await sleep_for(std::chrono::milliseconds(1));
  const std::string name = spec.name;
  if (!waited) cloud.load_balancers.standing[name].gone_at = Moment::max();
  if (!waited) co_return fail(waited.outcome(), "nobody waits");
  Balancer state = CO_TRY(co_await ensure_leaving(cloud, std::move(spec)));
  co_return state;
}

Task<Result<Preview>> preview_and_make(FakeProvider& cloud, Spec spec) {
  Result<Preview> preview = co_await cloud.load_balancers.preview(spec);
  CO_TRY(co_await cloud.load_balancers.ensure(std::move(spec)));
  co_return preview;
}

Task<Result<Preview>> preview_nothing(FakeProvider& cloud, Spec spec) {
  Preview preview = CO_TRY(co_await cloud.load_balancers.preview(std::move(spec)));
  preview.effect = Preview::Effect::unchanged;
  co_return preview;
}

Task<Result<Preview>> preview_always_something(FakeProvider& cloud, Spec spec) {
  Preview preview = CO_TRY(co_await cloud.load_balancers.preview(std::move(spec)));
  if (preview.effect == Preview::Effect::unchanged) {
    preview.effect = Preview::Effect::changed;
    preview.changes = {{"defaults", "", "them"}};
  }
  co_return preview;
}

Task<Result<Preview>> preview_without_names(FakeProvider& cloud, Spec spec) {
  Preview preview = CO_TRY(co_await cloud.load_balancers.preview(std::move(spec)));
  preview.changes.clear();
  co_return preview;
}

Task<Result<Balancers>> list_without_generations(FakeProvider& cloud) {
  Balancers all = CO_TRY(co_await cloud.load_balancers.list());
  for (Balancer& one : all.items) one.generation = 0;
  co_return all;
}

void list_one_and_say_complete(FakeProvider& cloud) {
  cloud.faults.list_only = 1;
  cloud.faults.partial_list_claims_to_be_complete = true;
}
void list_none_and_say_so(FakeProvider& cloud) { cloud.faults.list_only = 0; }
void never_settle(FakeProvider& cloud) { cloud.load_balancers.settle_after = Duration::max(); }

std::vector<Mutant> mutants() {
  return {
      {.name = "makes_a_second_one", .caught_by = "ensure-twice", .list = list_doubled},
      {.name = "doubles_what_is_found", .caught_by = "answer-lost", .list = list_doubled},
      {.name = "forgets_labels", .caught_by = "create", .ensure = ensure_without_labels},
      {.name = "moves_by_itself", .caught_by = "ensure-twice", .ensure = ensure_elsewhere},
      {.name = "writes_what_is_right", .caught_by = "ensure-twice", .ensure = ensure_and_write},
      {.name = "rewrites_what_is_right", .caught_by = "ensure-twice", .ensure = ensure_and_rewrite},
      {.name = "says_released_too_soon", .caught_by = "release", .release = release_says_ok},
      {.name = "released_is_an_error", .caught_by = "absent", .release = release_says_absent},
      {.name = "cannot_release_twice", .caught_by = "release", .release = release_says_absent},
      {.name = "cannot_release_the_half_made",
       .caught_by = "release-half-made",
       .release = release_settled_only},
      {.name = "never_releases", .caught_by = "clean-up", .release = release_never_ends},
      {.name = "finds_nothing", .caught_by = "create", .get = get_nothing},
      {.name = "loses_what_is_absent", .caught_by = "absent", .get = get_lost},
      {.name = "answers_about_another", .caught_by = "create", .get = get_another},
      {.name = "is_never_settled", .caught_by = "create", .get = get_unsettled},
      {.name = "never_settles", .caught_by = "create", .set_up = never_settle},
      {.name = "does_not_come_back", .caught_by = "comes-back", .ensure = ensure_leaving},
      {.name = "ignores_the_impossible", .caught_by = "impossible", .ensure = ensure_without_twins},
      {.name = "promises_the_impossible", .caught_by = "impossible", .ensure = ensure_in_vain},
      {.name = "does_it_by_halves", .caught_by = "impossible", .ensure = ensure_by_halves},
      {.name = "half_makes_for_who_left",
       .caught_by = "caller-gone",
       .ensure = ensure_for_who_waits},
      {.name = "makes_what_is_previewed", .caught_by = "preview", .preview = preview_and_make},
      {.name = "changes_what_is_previewed",
       .caught_by = "changes-port",
       .preview = preview_and_make},
      {.name = "previews_nothing", .caught_by = "changes-port", .preview = preview_nothing},
      {.name = "always_previews_something",
       .caught_by = "ensure-twice",
       .preview = preview_always_something},
      {.name = "previews_without_names",
       .caught_by = "changes-port",
       .preview = preview_without_names},
      {.name = "claims_that_a_partial_list_is_complete",
       .caught_by = "list",
       .set_up = list_one_and_say_complete},
      {.name = "never_has_a_complete_list", .caught_by = "create", .set_up = list_none_and_say_so},
      {.name = "lists_something_else", .caught_by = "list", .list = list_without_generations},
  };
}

struct conformance_life : testing::TestWithParam<Mutant>, ConformanceWorld {};

TEST_P(conformance_life, are_wrong_and_that_is_caught) { expect_caught(GetParam()); }

INSTANTIATE_TEST_SUITE_P(mutants, conformance_life, testing::ValuesIn(mutants()), mutant_name);

struct conformance_neighbours : testing::Test, ConformanceWorld {};

// Both credentials lead to one and the same owner, so each changes what the other made.
TEST_F(conformance_neighbours, that_share_their_names_are_caught) {
  const ConformanceReport report = run(cloud, {}, &cloud);
  EXPECT_EQ(step(report, "other-owner").verdict, ConformanceStep::Verdict::failed);
}

}  // namespace
}  // namespace isthmus::cloud
