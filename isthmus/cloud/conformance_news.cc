#include "isthmus/cloud/conformance_impl.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

namespace isthmus::cloud {
namespace {

using Kind = LoadBalancerNews::Kind;
using Needs = ConformanceCheck::Needs;

// What one who follows has heard.
struct Heard {
  std::vector<LoadBalancerNews> news;
  std::optional<Error> end;
};

// Ends with ok in any case: the step looks at what was heard.
Task<Result<>> listen(LoadBalancers& balancers, Heard& heard) {
  const Result<> end = co_await balancers.follow(
      [&heard](LoadBalancerNews news) { heard.news.push_back(std::move(news)); });
  heard.end = end ? Error{Outcome::ok, "it said that it was over"} : end.error();
  co_return {};
}

// Whether there is such a piece of news about the name, of that generation or a higher one.
bool has_heard(const Heard& heard, Kind kind, const std::string& name, std::uint64_t generation) {
  return std::ranges::any_of(heard.news, [&](const LoadBalancerNews& news) {
    return news.kind == kind &&
           std::ranges::any_of(news.states, [&](const LoadBalancerState& state) {
             return state.name == name && state.generation >= generation;
           });
  });
}

Task<Result<>> wait_until(ConformanceBench& bench, const Heard& heard,
                          std::function<bool()> condition, std::string what) {
  Scope& here = co_await current_scope();
  const Moment until = later(here.loop().now(), bench.options().follow_patience);
  while (!condition()) {
    if (heard.end && heard.end->outcome == Outcome::unsupported) {
      co_return bench.skipped("the cloud does not say by itself what happens: " +
                              heard.end->message);
    }
    if (heard.end) {
      co_return bench.failed(fmt::format("the news ended with {}: {}",
                                         to_string(heard.end->outcome), heard.end->message),
                             "tell until the caller leaves, or answer `unsupported` at once");
    }
    if (here.loop().now() >= until) {
      co_return bench.failed(fmt::format("the news did not tell {}", what),
                             "tell everything there is, and then every change, in order");
    }
    CO_TRY(co_await sleep_for(bench.options().poll_every));
  }
  co_return {};
}

// News of one name never go back.
bool in_order(const Heard& heard, const std::string& name) {
  std::uint64_t newest = 0;
  for (const LoadBalancerNews& news : heard.news) {
    for (const LoadBalancerState& state : news.states) {
      if (state.name != name || state.revision == 0) continue;
      if (state.revision < newest) return false;
      newest = state.revision;
    }
  }
  return true;
}

Task<Result<>> tells_a_life(ConformanceBench& bench, const Heard& heard) {
  const std::string& first = bench.first();
  const std::string& second = bench.second();
  CO_TRY(co_await wait_until(
      bench, heard, [&heard] { return !heard.news.empty(); }, "everything there is"));
  if (heard.news[0].kind != Kind::everything) {
    co_return bench.failed("the first news are not everything there is",
                           "tell everything first: what is not in it does not exist");
  }
  if (!has_heard(heard, Kind::everything, first, 0)) {
    co_return bench.failed("everything there is lacks a load balancer that stands",
                           "tell everything there is, or end the stream");
  }
  const LoadBalancerState made = CO_TRY(co_await bench.standing(bench.wish(second)));
  CO_TRY(co_await wait_until(
      bench, heard,
      [&heard, &second, &made] {
        return has_heard(heard, Kind::changed, second, made.generation) ||
               has_heard(heard, Kind::everything, second, made.generation);
      },
      "of a load balancer that was made"));
  LoadBalancerSpec wish = bench.wish(second);
  wish.listeners[0].port = 82;
  const LoadBalancerState changed = CO_TRY(co_await bench.standing(wish));
  CO_TRY(co_await wait_until(
      bench, heard,
      [&heard, &second, &changed] {
        return has_heard(heard, Kind::changed, second, changed.generation) ||
               has_heard(heard, Kind::everything, second, changed.generation);
      },
      "of a change"));
  CO_TRY(co_await bench.gone(second));
  CO_TRY(co_await wait_until(
      bench, heard, [&heard, &second] { return has_heard(heard, Kind::removed, second, 0); },
      "that a load balancer has gone"));
  if (in_order(heard, second)) co_return {};
  co_return bench.failed("older news came after newer ones", "tell changes in their order");
}

Task<Result<>> tells_what_happens(ConformanceBench& bench) {
  CO_TRY(co_await bench.standing(bench.wish(bench.first())));
  CO_TRY(co_await bench.gone(bench.second()));
  Heard heard;
  Scope& here = co_await current_scope();
  Scope listening(here);
  listening.spawn(listen, std::ref(bench.balancers()), std::ref(heard));
  Result<> told = co_await tells_a_life(bench, heard);
  listening.cancel();
  const Result<> joined = co_await listening.join();
  if (!told) co_return told;
  co_return joined;
}

}  // namespace

void add_news_checks(std::vector<ConformanceCheck>& checks) {
  checks.push_back({"news", "Who follows hears everything there is first, then each change",
                    Needs::load_balancers, tells_what_happens});
}

}  // namespace isthmus::cloud
