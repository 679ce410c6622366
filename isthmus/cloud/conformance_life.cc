#include "isthmus/cloud/conformance_impl.h"

#include <algorithm>

#include <fmt/format.h>

namespace isthmus::cloud {
namespace {

using Effect = LoadBalancerPreview::Effect;
using Needs = ConformanceCheck::Needs;

// A revision may rise by itself (a health check, a condition). A provider that writes raises it
// every time.
constexpr int kTriesForSilence = 5;

Task<Result<>> knows_nothing_of_what_was_never_made(ConformanceBench& bench) {
  const Result<LoadBalancerState> got = co_await bench.try_get(bench.first());
  if (got) {
    co_return bench.failed("get of a made-up name answered with " + got->name,
                           "answer `absent` when the cloud says so");
  }
  if (got.outcome() != Outcome::absent) {
    co_return bench.failed_call("get of what was never made", got.error());
  }
  CO_TRY(co_await bench.gone(bench.first()));
  co_return {};
}

// What is wrong with a state as the answer to a wish; empty: nothing.
std::string wrong_with(const LoadBalancerState& state, const LoadBalancerSpec& wish) {
  for (const auto& [key, value] : wish.labels) {
    const auto found = state.labels.find(key);
    if (found == state.labels.end() || found->second != value) {
      return fmt::format("its label {} is not {}", key, value);
    }
  }
  for (const IpFamily family : wish.families) {
    if (std::ranges::count(state.addresses, family, &IpAddress::family) != 1) {
      return fmt::format("it has {} addresses, not one for each of {} families",
                         state.addresses.size(), wish.families.size());
    }
  }
  if (!state.problems.empty()) {
    return fmt::format("{}: {}", state.problems[0].part, state.problems[0].error.message);
  }
  return {};
}

Task<Result<>> makes_it_whole(ConformanceBench& bench) {
  CO_TRY(co_await bench.gone(bench.first()));
  const LoadBalancerSpec wish = bench.wish(bench.first());
  const LoadBalancerState made = CO_TRY(co_await bench.ensure(wish));
  const LoadBalancerState settled = CO_TRY(co_await bench.settled(bench.first()));
  const std::string wrong = wrong_with(settled, wish);
  if (!wrong.empty()) {
    co_return bench.failed(wrong, "take every property over, and answer with what stands");
  }
  if (!made.addresses.empty() && made.addresses != settled.addresses) {
    co_return bench.failed("its addresses changed while it was settling",
                           "an address that was answered is held");
  }
  CO_TRY(co_await bench.listed_once(bench.first()));
  co_return {};
}

// Fails when the two are not the same creation.
Result<> same_creation(ConformanceBench& bench, const LoadBalancerState& before,
                       const LoadBalancerState& after) {
  if (before.generation != after.generation) {
    return bench.failed(fmt::format("an equal ensure raised the generation from {} to {}",
                                    before.generation, after.generation),
                        "compare with what stands, and write only what differs");
  }
  if (before.addresses != after.addresses) {
    return bench.failed("an equal ensure changed the addresses",
                        "an address that is held never changes by itself");
  }
  return {};
}

Task<Result<>> writes_nothing_twice(ConformanceBench& bench) {
  const LoadBalancerSpec wish = bench.wish(bench.first());
  LoadBalancerState before = CO_TRY(co_await bench.standing(wish));
  const LoadBalancerPreview preview = CO_TRY(co_await bench.preview(wish));
  if (preview.effect != Effect::unchanged || !preview.changes.empty()) {
    co_return bench.failed("the preview of what stands already says that something would change",
                           "compare after defaulting: what the cloud adds is no difference");
  }
  for (int i = 0; i < kTriesForSilence; ++i) {
    const LoadBalancerState after = CO_TRY(co_await bench.ensure(wish));
    CO_TRY(same_creation(bench, before, after));
    if (after.revision == before.revision) {
      CO_TRY(co_await bench.listed_once(bench.first()));
      co_return {};
    }
    before = after;
  }
  co_return bench.failed(
      fmt::format("{} equal ensures raised the revision each time", kTriesForSilence),
      "write nothing where all is right");
}

// The caller never learns what became of its first ensure, and finds it by its name.
Task<Result<>> finds_it_again(ConformanceBench& bench) {
  CO_TRY(co_await bench.gone(bench.first()));
  const LoadBalancerSpec wish = bench.wish(bench.first());
  const auto& lose = bench.options().lose_answers;
  if (lose) lose(true);
  const Result<LoadBalancerState> unheard = co_await bench.try_ensure(wish);
  if (lose) lose(false);
  if (lose && unheard) {
    co_return bench.failed("ensure was answered with ok, and no answer came from the cloud",
                           "what was not answered is `lost`");
  }
  const bool may_have_had_effect = unheard.outcome() == Outcome::ok ||
                                   unheard.outcome() == Outcome::lost ||
                                   unheard.outcome() == Outcome::deadline;
  if (!may_have_had_effect) co_return bench.failed_call("ensure", unheard.error());
  const LoadBalancerState first = CO_TRY(co_await bench.get(bench.first()));
  const LoadBalancerState again = CO_TRY(co_await bench.ensure(wish));
  CO_TRY(same_creation(bench, first, again));
  CO_TRY(co_await bench.settled(bench.first()));
  CO_TRY(co_await bench.listed_once(bench.first()));
  co_return {};
}

// Gives up before an answer can have come.
Task<Result<>> survives_a_caller_that_leaves(ConformanceBench& bench) {
  CO_TRY(co_await bench.gone(bench.first()));
  const LoadBalancerSpec wish = bench.wish(bench.first());
  const Result<LoadBalancerState> cut =
      co_await with_timeout(Duration::zero(), bench.balancers().ensure(wish));
  const bool is_cut = cut.outcome() == Outcome::deadline || cut.outcome() == Outcome::cancelled;
  if (!cut && !is_cut && cut.outcome() != Outcome::lost && cut.outcome() != Outcome::busy) {
    co_return bench.failed_call("an ensure whose caller left", cut.error());
  }
  CO_TRY(co_await bench.standing(wish));
  CO_TRY(co_await bench.listed_once(bench.first()));
  co_return {};
}

Task<Result<>> previews_without_writing(ConformanceBench& bench) {
  CO_TRY(co_await bench.gone(bench.first()));
  const LoadBalancerPreview preview = CO_TRY(co_await bench.preview(bench.wish(bench.first())));
  if (preview.effect != Effect::created) {
    co_return bench.failed("the preview of what does not stand does not say `created`",
                           "say what ensure would do now");
  }
  const Result<LoadBalancerState> got = co_await bench.try_get(bench.first());
  if (got.outcome() == Outcome::absent) co_return {};
  co_return bench.failed("after a preview it was there", "a preview writes nothing");
}

// Two listeners of one port can never be: not now, and not later.
Task<Result<>> refuses_the_impossible(ConformanceBench& bench) {
  const LoadBalancerSpec wish = bench.wish(bench.first());
  const LoadBalancerState before = CO_TRY(co_await bench.standing(wish));
  LoadBalancerSpec impossible = wish;
  impossible.listeners.push_back(impossible.listeners[0]);
  impossible.listeners[1].name = "again";
  const Result<LoadBalancerState> answer = co_await bench.try_ensure(impossible);
  if (answer.outcome() != Outcome::invalid || answer.error().message.empty()) {
    co_return bench.failed(
        fmt::format("two listeners of one port were answered with {}", to_string(answer.outcome())),
        "answer `invalid`, and say what is wrong");
  }
  const LoadBalancerState after = CO_TRY(co_await bench.get(bench.first()));
  if (after.generation == before.generation && after.addresses == before.addresses) co_return {};
  co_return bench.failed("a refused wish changed what stands", "refuse before anything is written");
}

Task<Result<>> lists_them_all(ConformanceBench& bench) {
  std::vector<LoadBalancerState> made;
  for (const std::string& name : {bench.first(), bench.second()}) {
    LoadBalancerState state = CO_TRY(co_await bench.standing(bench.wish(name)));
    made.push_back(std::move(state));
  }
  const std::vector<LoadBalancerState> listed = CO_TRY(co_await bench.ours());
  for (const LoadBalancerState& state : made) {
    const auto found = std::ranges::find(listed, state.name, &LoadBalancerState::name);
    if (found == listed.end()) {
      co_return bench.failed("a list that says it is complete lacks one that stands",
                             "list all that this cluster owns, or answer `partial`");
    }
    if (found->addresses != state.addresses || found->generation != state.generation ||
        found->labels != state.labels) {
      co_return bench.failed("a listed state is not what get answers",
                             "both say what stands: addresses, labels and generation");
    }
  }
  if (listed.size() != made.size()) {
    co_return bench.failed(
        fmt::format("{} are listed, and {} were made", listed.size(), made.size()),
        "list each load balancer once");
  }
  CO_TRY(co_await bench.gone(bench.second()));
  CO_TRY(co_await bench.listed_once(bench.first()));
  co_return {};
}

Task<Result<>> releases_for_good(ConformanceBench& bench) {
  CO_TRY(co_await bench.standing(bench.wish(bench.first())));
  CO_TRY(co_await bench.gone(bench.first()));
  const std::vector<LoadBalancerState> listed = CO_TRY(co_await bench.ours());
  if (!listed.empty()) {
    co_return bench.failed("what was released is still listed",
                           "answer `busy` to release until nothing of it is left");
  }
  CO_TRY(co_await bench.gone(bench.first()));
  co_return {};
}

Task<Result<>> releases_the_half_made(ConformanceBench& bench) {
  CO_TRY(co_await bench.gone(bench.first()));
  CO_TRY(co_await bench.ensure(bench.wish(bench.first())));
  CO_TRY(co_await bench.gone(bench.first()));
  co_return {};
}

// The Service came back while its load balancer was going.
Task<Result<>> comes_back(ConformanceBench& bench) {
  const LoadBalancerSpec wish = bench.wish(bench.first());
  CO_TRY(co_await bench.standing(wish));
  const Result<> release = co_await with_timeout(bench.options().call_deadline,
                                                 bench.balancers().release(bench.first()));
  if (!release && release.outcome() != Outcome::busy) {
    co_return bench.failed_call("release", release.error());
  }
  CO_TRY(co_await bench.standing(wish));
  CO_TRY(co_await bench.listed_once(bench.first()));
  co_return {};
}

// Another owner has one of the same name: both stand beside each other, or the name is taken; and
// whatever we do, theirs stays as it is.
Task<Result<>> leaves_strangers_alone(ConformanceBench& bench) {
  LoadBalancers* theirs =
      bench.stranger() == nullptr ? nullptr : bench.stranger()->capabilities().load_balancers;
  if (theirs == nullptr) {
    co_return bench.skipped("no credentials of another owner were given",
                            "give those of a second owner");
  }
  CO_TRY(co_await bench.gone(bench.first()));
  const LoadBalancerSpec wish = bench.wish(bench.first());
  const Result<LoadBalancerState> made =
      co_await bench.call<LoadBalancerState>([theirs, wish] { return theirs->ensure(wish); });
  if (!made) co_return bench.failed_call("ensure as the other owner", made.error());

  LoadBalancerSpec ours = wish;
  ours.listeners[0].port = 8080;
  const Result<LoadBalancerState> beside = co_await bench.try_ensure(ours);
  if (!beside && beside.outcome() != Outcome::conflict && beside.outcome() != Outcome::denied) {
    co_return bench.failed_call("ensure of a name that another owner has", beside.error());
  }
  if (beside &&
      std::ranges::find_first_of(beside->addresses, made->addresses) != beside->addresses.end()) {
    co_return bench.failed("two owners hold one address", "an address has one holder");
  }
  if (beside) CO_TRY(co_await bench.gone(bench.first()));
  const Result<> released =
      co_await bench.call<void>([&bench] { return bench.balancers().release(bench.first()); });
  if (!released && released.outcome() != Outcome::conflict &&
      released.outcome() != Outcome::denied) {
    co_return bench.failed_call("release of a name that another owner has", released.error());
  }
  const Result<LoadBalancerState> after = co_await bench.call<LoadBalancerState>(
      [theirs, &bench] { return theirs->get(bench.first()); });
  if (!after) co_return bench.failed_call("get as the other owner", after.error());
  if (after->generation == made->generation && after->addresses == made->addresses &&
      !after->is_leaving) {
    co_return {};
  }
  co_return bench.failed("the other owner's load balancer was changed",
                         "look up by owner and name; what is not ours is never touched");
}

}  // namespace

void add_life_checks(std::vector<ConformanceCheck>& checks) {
  const auto add = [&checks](std::string name, std::string sentence, auto run) {
    checks.push_back({std::move(name), std::move(sentence), Needs::load_balancers, run});
  };
  add("absent", "What was never made is absent, and releasing it is no error",
      knows_nothing_of_what_was_never_made);
  add("create", "A load balancer is made once, with its labels and an address, and settles",
      makes_it_whole);
  add("ensure-twice", "Ensuring what stands writes nothing", writes_nothing_twice);
  add("answer-lost", "A creation whose answer was lost is found again and not doubled",
      finds_it_again);
  add("caller-gone", "A creation whose caller left half-way is completed and not doubled",
      survives_a_caller_that_leaves);
  add("preview", "A preview of what does not stand says so and writes nothing",
      previews_without_writing);
  add("impossible", "A wish that can never be is invalid, and what stands stays",
      refuses_the_impossible);
  add("list", "A list that says it is complete has each load balancer once, as it stands",
      lists_them_all);
  add("release", "Once release says ok nothing is left, and releasing again is ok",
      releases_for_good);
  add("release-half-made", "What has not settled yet is released as well", releases_the_half_made);
  add("comes-back", "What is ensured while it leaves stands again", comes_back);
  add("other-owner", "Another owner's load balancer of the same name is never touched",
      leaves_strangers_alone);
}

}  // namespace isthmus::cloud
