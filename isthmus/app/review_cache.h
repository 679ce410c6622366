// What the API server said about callers of ours, remembered for a while.
//
// Equal questions at one time are one call, and each asker has a place of its own while it waits
// (review_places.h). Only verdicts are remembered, never that the API server could not be asked;
// and no more than there is room for, so that nobody fills our memory by asking for ever new
// things. Refusals have a memory of their own, so that they push out nobody who was let in.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "isthmus/app/review_places.h"
#include "isthmus/base/loop.h"
#include "isthmus/base/result.h"
#include "isthmus/base/scope.h"
#include "isthmus/base/task.h"
#include "isthmus/cloud/coalesce.h"
#include "isthmus/kube/lru.h"

namespace isthmus::app {

// Beyond that, who asks is told that we cannot know.
inline constexpr Duration kReviewTimeout = std::chrono::seconds(10);

// In each of two memories. A verdict is about a kilobyte: 8 MB at most for a kind of question. At
// 200 questions a second (secure_port.cc), a refusal is there for twenty seconds whatever strangers
// ask.
inline constexpr std::size_t kReviewsKeptMax = 4096;

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
//
// Who was let in is known for as long as it is remembered and not refused, even if that verdict is
// too old to count: a scraper's place does not depend on what strangers do.
template <class Question, class Verdict>
class ReviewCache {
 public:
  using Ask = std::function<Task<Result<Verdict>>(Question)>;

  // What a verdict comes to.
  struct Sense {
    bool lets_in = false;
    Duration counts_for = {};
  };
  using SenseOf = std::function<Sense(const Verdict&)>;

  // `ask` makes one call.
  ReviewCache(Loop& loop, Ask ask, SenseOf sense_of)
      : loop_(loop),
        sense_of_(std::move(sense_of)),
        let_in_(kReviewsKeptMax),
        refused_(kReviewsKeptMax),
        calls_(loop, [ask = std::move(ask)](Same same) {
          return with_timeout(kReviewTimeout, ask(std::move(same.question)));
        }) {}

  // `network` is where the question comes from (network_of). busy: there is no place to wait at, or
  // the API server is busy; lost, deadline (kReviewTimeout): it did not tell.
  Task<Result<Verdict>> get(Question question, std::string network) {
    const std::string fingerprint = question.fingerprint;
    if (const Verdict* verdict = remembered(fingerprint)) co_return *verdict;
    const bool is_known = let_in_.find(fingerprint) != nullptr;
    const std::optional<ReviewPlaces::Place> place =
        is_known ? places_.take_for_known(fingerprint)
                 : places_.take_for_stranger(std::move(network));
    if (!place) co_return fail(Outcome::busy, "too many callers wait to be looked up");
    Result<cloud::Dated<Verdict>> answer =
        co_await calls_.ask(Same{std::move(question)}, Moment::min());
    if (!answer) co_return std::unexpected(not_told(std::move(answer.error())));
    remember(fingerprint, *answer);
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
  using Memory = kube::Lru<std::string, Kept>;

  // The verdict that counts now, or null. Borrowed until the next call.
  const Verdict* remembered(const std::string& fingerprint) {
    for (Memory* memory : {&let_in_, &refused_}) {
      const Kept* kept = memory->find(fingerprint);
      if (kept != nullptr && kept->until > loop_.now()) return &kept->verdict;
    }
    return nullptr;
  }

  // The verdict takes the place of an earlier one of the other sense.
  void remember(const std::string& fingerprint, const cloud::Dated<Verdict>& answer) {
    const Sense sense = sense_of_(answer.value);
    Memory& memory = sense.lets_in ? let_in_ : refused_;
    Memory& other = sense.lets_in ? refused_ : let_in_;
    memory.touch(fingerprint) = {answer.value, answer.as_of + sense.counts_for};
    other.forget(fingerprint);
  }

  Loop& loop_;
  SenseOf sense_of_;
  Memory let_in_;
  Memory refused_;
  ReviewPlaces places_;
  cloud::Coalescer<Same, Verdict> calls_;
};

}  // namespace isthmus::app
