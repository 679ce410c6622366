#include "isthmus/kube/watcher_state.h"

#include <cstdlib>
#include <utility>

namespace isthmus::kube::watching {
namespace {

template <class... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};
template <class... Cases>
Overloaded(Cases...) -> Overloaded<Cases...>;

// The server's own way of saying that it cannot do this, whatever is asked: trying the same again
// would be answered the same.
bool is_refusal_of_the_kind(Outcome outcome) {
  return outcome == Outcome::invalid || outcome == Outcome::unsupported ||
         outcome == Outcome::absent;
}

Step paused(State next, Effect effect, const Error& error) {
  return {std::move(next), effect, true, error.retry_after,
          std::string(to_string(error.outcome)) + ": " + error.message};
}

// An input that cannot come in this state: the IO around us is wrong.
[[noreturn]] Step impossible() {
  ISTHMUS_ASSERT(false, "an input that does not belong to the state");
  std::abort();
}

Step from_opening(const Opening& state, const Input& input) {
  if (std::holds_alternative<Accepted>(input)) return {Collecting{state.floor}};
  const auto* failed = std::get_if<Failed>(&input);
  if (failed == nullptr) impossible();
  const Outcome outcome = failed->error.outcome;
  if (is_refusal_of_the_kind(outcome)) {
    return {.next = Paging{}, .why = "no streaming list: " + failed->error.message};
  }
  if (outcome != Outcome::conflict) return paused(state, Effect::none, failed->error);
  // The version we know is gone or not there yet. Without a floor that is a contradiction.
  if (!state.floor.empty()) return {.next = Opening{}, .why = failed->error.message};
  return paused(Paging{}, Effect::none, failed->error);
}

// The streaming list was not finished: nothing of it counts, and another way may do better.
Step not_finished(const Collecting& state, int stream_failures, const Error& error) {
  if (stream_failures + 1 >= kStreamFailuresMax) return paused(Paging{}, Effect::discard, error);
  return paused(Opening{state.floor}, Effect::discard, error);
}

Step from_collecting(const Collecting& state, const Input& input, Moment now, int stream_failures) {
  return std::visit(Overloaded{
                        [&](const Arrived&) -> Step { return {state, Effect::collect}; },
                        [&](const Marked& mark) -> Step {
                          if (!mark.initial_end) return {state};
                          return {Following{mark.version, now, true}, Effect::publish};
                        },
                        [&](const Refused& refused) -> Step {
                          const Outcome outcome = refused.error.outcome;
                          if (outcome == Outcome::conflict) {
                            return paused(Opening{}, Effect::discard, refused.error);
                          }
                          if (outcome == Outcome::busy) {
                            return not_finished(state, stream_failures, refused.error);
                          }
                          return paused(Paging{}, Effect::discard, refused.error);
                        },
                        [&](const Silent&) -> Step {
                          return {.next = Paging{},
                                  .effect = Effect::discard,
                                  .why = "the end of the initial objects never came"};
                        },
                        [&](const Garbled& garbled) -> Step {
                          return not_finished(state, stream_failures, garbled.error);
                        },
                        [&](const Broken& broken) -> Step {
                          return not_finished(state, stream_failures, broken.error);
                        },
                        [&](const Ended&) -> Step {
                          return not_finished(
                              state, stream_failures,
                              {Outcome::lost, "ended before the initial objects did"});
                        },
                        [](const auto&) -> Step { impossible(); },
                    },
                    input);
}

Step from_paging(const Paging& state, const Input& input) {
  if (const auto* page = std::get_if<PageRead>(&input)) {
    if (page->continue_token.empty()) return {Connecting{page->version}, Effect::publish};
    return {Paging{page->continue_token}, Effect::collect};
  }
  const auto* failed = std::get_if<Failed>(&input);
  if (failed == nullptr) impossible();
  // Busy, lost or denied says nothing about the list that was begun: ask for the same page again. A
  // forgotten continue token (410) or a refusal ends that list, and the next one may stream again.
  const Outcome outcome = failed->error.outcome;
  if (outcome == Outcome::conflict) return paused(Paging{}, Effect::discard, failed->error);
  if (is_refusal_of_the_kind(outcome)) return paused(Opening{}, Effect::discard, failed->error);
  return paused(state, Effect::none, failed->error);
}

Step from_connecting(const Connecting& state, const Input& input, Moment now) {
  if (std::holds_alternative<Accepted>(input)) return {Following{state.version, now, false}};
  const auto* failed = std::get_if<Failed>(&input);
  if (failed == nullptr) impossible();
  const Outcome outcome = failed->error.outcome;
  if (outcome == Outcome::conflict || is_refusal_of_the_kind(outcome)) {
    return paused(Opening{state.version}, Effect::none, failed->error);
  }
  return paused(state, Effect::none, failed->error);
}

// The stream is over without a fault of the view: go on from the last version. One that ends as
// soon as it began is a fault after all, or we would spin.
Step resume(const Following& state, Moment now, std::string why) {
  const bool is_short = !state.news && now - state.since < kShortWatch;
  return {Connecting{state.version}, Effect::none, is_short, {}, std::move(why)};
}

Step from_following(const Following& state, const Input& input, Moment now) {
  const auto seen = [&state](const std::string& version) {
    return Following{version.empty() ? state.version : version, state.since, true};
  };
  return std::visit(
      Overloaded{
          [&](const Arrived& change) -> Step { return {seen(change.version), Effect::apply}; },
          [&](const Marked& mark) -> Step { return {seen(mark.version)}; },
          [&](const Refused& refused) -> Step {
            if (refused.error.outcome == Outcome::busy) {
              return paused(Connecting{state.version}, Effect::none, refused.error);
            }
            return paused(Opening{state.version}, Effect::none, refused.error);
          },
          // The same line would come again after a resume; a list goes around it.
          [&](const Garbled& garbled) -> Step {
            return paused(Opening{state.version}, Effect::none, garbled.error);
          },
          [&](const Broken& broken) -> Step { return resume(state, now, broken.error.message); },
          [&](const Ended&) -> Step { return resume(state, now, {}); },
          // A server that was set back to an older state accepts a version of its lost future and
          // stays silent, bookmarks included; only a list tells us (measured on 1.37).
          [&](const Silent&) -> Step {
            constexpr std::string_view kWhy = "nothing came for too long";
            if (state.news) return resume(state, now, std::string(kWhy));
            return {.next = Opening{state.version}, .why = std::string(kWhy)};
          },
          [](const auto&) -> Step { impossible(); },
      },
      input);
}

}  // namespace

std::string_view name_of(const State& state) {
  constexpr std::string_view kNames[] = {"opening", "collecting", "paging", "connecting",
                                         "following"};
  return kNames[state.index()];
}

Step transition(const State& state, const Input& input, Moment now, int stream_failures) {
  return std::visit(
      Overloaded{
          [&](const Opening& at) { return from_opening(at, input); },
          [&](const Collecting& at) { return from_collecting(at, input, now, stream_failures); },
          [&](const Paging& at) { return from_paging(at, input); },
          [&](const Connecting& at) { return from_connecting(at, input, now); },
          [&](const Following& at) { return from_following(at, input, now); },
      },
      state);
}

}  // namespace isthmus::kube::watching
