#include "isthmus/kube/watcher.h"

#include <algorithm>
#include <utility>

#include "isthmus/base/scope.h"

namespace isthmus::kube {
namespace {

// From 800 ms to 30 s, jitter of up to 100 % included; forgotten after 2 min (upstream's numbers,
// whose jitter comes on top of the 30 s).
constexpr BackoffPolicy kPolicy{std::chrono::milliseconds(800), std::chrono::seconds(15),
                                Jitter::added};
constexpr Duration kQuiet = std::chrono::minutes(2);

// A watch that has lived this long has worked: what fails next is another story.
constexpr Duration kWorkingWatch = std::chrono::seconds(10);

// Until a watch is accepted or a page is read. The door has a deadline of its own, which is
// shorter; this one is for doors that do not.
constexpr Duration kAnswerMax = std::chrono::seconds(75);

}  // namespace

Watcher::Watcher(ApiDoor& api, ResourceType resource, WatchSink& sink, const Clock& clock,
                 Random& random, Metrics& metrics, Logger& log, WatcherOptions options)
    : api_(api),
      resource_(resource),
      sink_(sink),
      clock_(clock),
      random_(random),
      log_(log),
      options_(options),
      lists_(metrics.counter("isthmus_watch_lists_total",
                             "Number of times all objects of a resource were asked for.",
                             {{"resource", std::string(resource.plural)}})),
      watches_(metrics.counter("isthmus_watch_watches_total",
                               "Number of times the changes of a resource were asked for.",
                               {{"resource", std::string(resource.plural)}})),
      unreadable_(metrics.gauge("isthmus_watch_unreadable_objects",
                                "Number of objects whose newest state could not be read.",
                                {{"resource", std::string(resource.plural)}})),
      backoff_(clock, random, kPolicy, kQuiet),
      last_heard_(clock.now()) {}

Task<Result<>> Watcher::run() {
  for (;;) {
    const watching::Input input = CO_TRY(co_await next_input());
    const std::optional<Duration> pause = take(input);
    if (pause) CO_TRY(co_await sleep_for(*pause));
  }
}

// Asks the server what the state wants to know. An error here is our own end; the server's are
// inputs.
Task<Result<watching::Input>> Watcher::next_input() {
  Result<watching::Input> input = watching::Ended{};
  if (const auto* opening = std::get_if<watching::Opening>(&state_)) {
    lists_.add();
    input = co_await open(watch_from(opening->floor, true));
  } else if (const auto* paging = std::get_if<watching::Paging>(&state_)) {
    if (paging->continue_token.empty()) lists_.add();
    input = co_await read_page(paging->continue_token);
  } else if (const auto* connecting = std::get_if<watching::Connecting>(&state_)) {
    watches_.add();
    input = co_await open(watch_from(connecting->version, false));
  } else if (std::holds_alternative<watching::Collecting>(state_)) {
    input = co_await read_line(options_.collecting_idle_max);
  } else {
    input = co_await read_line(options_.idle_max);
  }
  Scope& scope = co_await current_scope();
  if (scope.is_cancelled()) co_return fail(scope.reason(), "watching: stopped");
  co_return input;
}

WatchRequest Watcher::watch_from(std::string version, bool initial_events) {
  return {.resource = resource_,
          .only = options_.only,
          .resource_version = std::move(version),
          .send_initial_events = initial_events,
          .timeout = random_.between(options_.watch_timeout_min, options_.watch_timeout_max)};
}

Task<Result<watching::Input>> Watcher::open(WatchRequest request) {
  Result<std::unique_ptr<WatchStream>> answer =
      co_await with_timeout(kAnswerMax, api_.watch(std::move(request)));
  if (!answer) co_return watching::Failed{std::move(answer.error())};
  stream_ = std::move(*answer);
  last_heard_ = clock_.now();
  co_return watching::Accepted{};
}

Task<Result<watching::Input>> Watcher::read_page(std::string continue_token) {
  ListRequest request{resource_, options_.page_limit, std::move(continue_token), options_.only};
  Result<std::string> answer = co_await with_timeout(kAnswerMax, api_.list(std::move(request)));
  if (!answer) co_return watching::Failed{std::move(answer.error())};
  last_heard_ = clock_.now();
  Result<watching::PageRead> page = sink_.page(std::move(*answer));
  if (!page) co_return watching::Failed{std::move(page.error())};
  co_return std::move(*page);
}

Task<Result<watching::Input>> Watcher::read_line(Duration idle_max) {
  Result<std::string> line = co_await with_timeout(idle_max, stream_->next());
  if (line.outcome() == Outcome::deadline) co_return watching::Silent{};
  if (!line) co_return watching::Broken{std::move(line.error())};
  last_heard_ = clock_.now();
  if (line->empty()) co_return watching::Ended{};
  co_return sink_.line(std::move(*line));
}

// Goes to the next state and does what leads there; the answer is how long to wait before going on.
std::optional<Duration> Watcher::take(const watching::Input& input) {
  const bool was_collecting = std::holds_alternative<watching::Collecting>(state_);
  watching::Step step = watching::transition(state_, input, clock_.now(), stream_failures_);
  sink_.perform(step.effect);
  tell_unreadable();
  const bool is_collecting = std::holds_alternative<watching::Collecting>(step.next);
  const bool is_following = std::holds_alternative<watching::Following>(step.next);
  if (!is_collecting && !is_following) stream_.reset();
  if (step.effect == watching::Effect::publish) {
    stream_failures_ = 0;
  } else if (was_collecting && !is_collecting) {
    ++stream_failures_;
  }

  forgive(input);
  note_refusal(input);
  std::optional<Duration> pause;
  if (step.pause) pause = std::max(backoff_.next(), step.pause_min);
  if (!step.why.empty()) {
    const Logger::Fields fields = {{"resource", resource_.plural},
                                   {"was", name_of(state_)},
                                   {"now", name_of(step.next)},
                                   {"why", step.why},
                                   {"pause", pause.value_or(Duration::zero())}};
    // Where nobody writes objects of a type, a server has no bookmarks to send: of a single object
    // silence is usual, and looking again is only to be sure.
    const bool is_usual =
        std::holds_alternative<watching::Silent>(input) && !options_.only.name.empty();
    is_usual ? log_.debug("watch interrupted", fields) : log_.info("watch interrupted", fields);
  }
  state_ = std::move(step.next);
  return pause;
}

// A new story begins with the shortest pause: after a watch that worked, and when a server that was
// not there answers that our version is gone. The same answer again is the same story.
void Watcher::forgive(const watching::Input& input) {
  const auto* following = std::get_if<watching::Following>(&state_);
  const auto* failed = std::get_if<watching::Failed>(&input);
  const bool worked = following != nullptr && clock_.now() - following->since >= kWorkingWatch;
  const bool forgotten = failed != nullptr && failed->error.outcome == Outcome::conflict;
  if (worked || (forgotten && !was_forgotten_)) backoff_.reset();
  if (failed != nullptr || worked) was_forgotten_ = forgotten;
}

void Watcher::note_refusal(const watching::Input& input) {
  if (const auto* failed = std::get_if<watching::Failed>(&input)) refusal_ = failed->error;
  const bool is_granted = std::holds_alternative<watching::Accepted>(input) ||
                          std::holds_alternative<watching::PageRead>(input);
  if (is_granted) refusal_.reset();
}

// Once for each time their number grows: a kubelet may write a bad status every few seconds.
void Watcher::tell_unreadable() {
  const auto& unreadable = sink_.unreadable();
  if (unreadable.size() == told_unreadable_) return;
  if (unreadable.size() > told_unreadable_) {
    const auto& [key, why] = *unreadable.begin();
    log_.error("objects cannot be read; their last good state is kept",
               {{"resource", resource_.plural},
                {"count", unreadable.size()},
                {"one", to_string(key)},
                {"why", why}});
  }
  told_unreadable_ = unreadable.size();
  unreadable_.set(static_cast<double>(told_unreadable_));
}

}  // namespace isthmus::kube
