// What the API server said about callers of ours, remembered for a while.
//
// Equal questions at one time are one call. Only verdicts are remembered, never that the API server
// could not be asked; and no more than there is room for, so that nobody fills our memory by asking
// for ever new things.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <utility>

#include "isthmus/base/loop.h"
#include "isthmus/base/result.h"
#include "isthmus/base/scope.h"
#include "isthmus/base/task.h"
#include "isthmus/cloud/coalesce.h"
#include "isthmus/kube/lru.h"

namespace isthmus::app {

// Beyond that, who asks is told that we cannot know.
inline constexpr Duration kReviewTimeout = std::chrono::seconds(10);

// A verdict is about a kilobyte: 4 MB at most. At 200 questions a second (secure_port.cc),
// strangers who try token after token push out nothing that is younger than twenty seconds.
inline constexpr std::size_t kReviewsKeptMax = 4096;

// So many callers may wait for the API server, with each of the two kinds of question: of the 128
// connections of the secure port this leaves 48 to probes, whatever strangers and the API server
// do.
inline constexpr std::size_t kReviewsAtOnceMax = 40;

// An error of asking, as it concerns the caller: that we may not ask, or asked wrongly, is no
// verdict about anybody, so it is lost like an API server that does not answer.
inline Error not_told(Error error) {
  const bool passes = error.outcome == Outcome::busy || error.outcome == Outcome::deadline ||
                      is_our_own(error.outcome);
  if (!passes) error.outcome = Outcome::lost;
  return error;
}

// A resource. Question has a `fingerprint`, by which equal questions are known and which tells
// nobody what was asked, and is copied. Outlives all who wait in get().
template <class Question, class Verdict>
class ReviewCache {
 public:
  using Ask = std::function<Task<Result<Verdict>>(Question)>;
  using LifeOf = std::function<Duration(const Verdict&)>;

  // `ask` makes one call; `life_of` says for how long its verdict counts.
  ReviewCache(Loop& loop, Ask ask, LifeOf life_of)
      : loop_(loop),
        life_of_(std::move(life_of)),
        kept_(kReviewsKeptMax),
        calls_(loop, [ask = std::move(ask)](Same same) {
          return with_timeout(kReviewTimeout, ask(std::move(same.question)));
        }) {}

  // busy: too many callers wait, or the API server is busy; lost, deadline (kReviewTimeout): it
  // did not tell.
  Task<Result<Verdict>> get(Question question) {
    const std::string fingerprint = question.fingerprint;
    Kept* kept = kept_.find(fingerprint);
    if (kept != nullptr && kept->until > loop_.now()) co_return kept->verdict;
    if (waiting_ >= kReviewsAtOnceMax) {
      co_return fail(Outcome::busy, "too many callers wait to be looked up");
    }
    const Waiting counted(waiting_);
    Result<cloud::Dated<Verdict>> answer =
        co_await calls_.ask(Same{std::move(question)}, Moment::min());
    if (!answer) co_return std::unexpected(not_told(std::move(answer.error())));
    kept_.touch(fingerprint) = {answer->value, answer->as_of + life_of_(answer->value)};
    co_return std::move(answer->value);
  }

 private:
  struct Same {
    Question question;
    bool operator==(const Same& other) const {
      return question.fingerprint == other.question.fingerprint;
    }
  };
  struct Kept {
    Verdict verdict = {};
    Moment until = {};
  };

  class Waiting {
   public:
    explicit Waiting(std::size_t& count) : count_(count) { ++count_; }
    ~Waiting() { --count_; }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;

   private:
    std::size_t& count_;
  };

  Loop& loop_;
  LifeOf life_of_;
  kube::Lru<std::string, Kept> kept_;
  std::size_t waiting_ = 0;
  cloud::Coalescer<Same, Verdict> calls_;
};

}  // namespace isthmus::app
