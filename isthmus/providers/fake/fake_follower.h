// One who follows a fake cloud, as long as the call lasts: what it has still to hear.
#pragma once

#include <deque>
#include <functional>
#include <list>
#include <optional>
#include <string>
#include <utility>

#include "isthmus/base/scope.h"
#include "isthmus/base/signal.h"
#include "isthmus/base/task.h"

namespace isthmus::providers::fake {

// Stands in the list of its cloud while it lives; the list outlives it.
template <class News>
class FakeFollower final {
 public:
  using All = std::list<FakeFollower*>;

  // `about_`: the name of what is followed; empty where all are.
  explicit FakeFollower(All& all, std::string about_ = {}) : about(std::move(about_)), all_(all) {
    all_.push_back(this);
  }
  ~FakeFollower() { all_.remove(this); }
  FakeFollower(const FakeFollower&) = delete;
  FakeFollower& operator=(const FakeFollower&) = delete;

  void hear(News piece) {
    news_.push_back(std::move(piece));
    woken_.set();
  }
  void cut() {
    is_cut_ = true;
    woken_.set();
  }

  // Tells what is heard until it is cut (lost) or the caller is cancelled. `next_event` is the next
  // moment at which something happens in the cloud by itself, and `catch_up` lets it happen.
  Task<Result<>> listen(std::function<void(News)> tell,
                        std::function<std::optional<Moment>()> next_event,
                        std::function<void(Moment)> catch_up) {
    Scope& here = co_await current_scope();
    while (!is_cut_) {
      woken_.clear();
      while (!news_.empty() && !is_cut_) {
        News piece = std::move(news_.front());
        news_.pop_front();
        tell(std::move(piece));
      }
      const Result<> woken = co_await wait_until(next_event());
      if (!woken && here.is_cancelled()) co_return woken;
      catch_up(here.loop().now());
    }
    co_return fail(Outcome::lost, "the stream was cut");
  }

  const std::string about;

 private:
  // For news, or the moment. Without one no timer is armed, so that a world where nothing else
  // happens is at its end.
  Task<Result<>> wait_until(std::optional<Moment> moment) {
    if (!moment) {
      Result<> told = co_await wait();
      co_return told;
    }
    Result<> told = co_await with_deadline(*moment, wait());
    co_return told;
  }
  Task<Result<>> wait() {
    CO_TRY(co_await woken_.wait());
    co_return {};
  }

  All& all_;
  std::deque<News> news_;
  Signal woken_;
  bool is_cut_ = false;
};

}  // namespace isthmus::providers::fake
