// A checker in virtual time, and a prober whose targets do what a test says.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "isthmus/base/virtual_world.h"
#include "isthmus/infra/health_checker.h"

namespace isthmus::infra {

// Target number N has the address 10.0.0.0 + N.
inline Check check(std::uint32_t number, api::HealthCheck how = {}) {
  Check check;
  for (std::size_t byte = 0; byte < 4; ++byte) {
    const std::uint32_t address = 0x0A000000 + number;
    check.address.bytes[byte] = static_cast<std::uint8_t>(address >> (8 * (3 - byte)));
  }
  check.how = std::move(how);
  check.how.protocol = api::HealthCheck::Protocol::http;
  check.how.port = 8080;
  return check;
}

inline std::uint32_t number_of(const IpAddress& address) {
  std::uint32_t number = 0;
  for (std::size_t byte = 1; byte < 4; ++byte) number = number << 8 | address.bytes[byte];
  return number;
}

inline Result<> refused() { return fail(Outcome::lost, "connection refused"); }

class FakeProber final : public net::Prober {
 public:
  struct Answer {
    Duration after{};
    Result<> result;
  };
  struct Call {
    Duration at;
    net::ProbeRequest request;
  };

  explicit FakeProber(Loop& loop) : loop_(loop) {}

  Task<Result<>> probe(net::ProbeRequest request) override {
    calls.push_back({loop_.now() - Moment{}, request});
    const Place place(*this);
    const auto found = answers.find(number_of(request.endpoint.address));
    const Answer answer = found == answers.end() ? Answer{} : found->second;
    Result<> waited = co_await sleep_for(answer.after);
    if (!waited) cut_short.push_back(number_of(request.endpoint.address));
    CO_TRY(std::move(waited));
    co_return answer.result;
  }

  // When that target was asked, in time since the world began.
  std::vector<Duration> asked(std::uint32_t number) const {
    std::vector<Duration> moments;
    for (const Call& call : calls) {
      if (number_of(call.request.endpoint.address) == number) moments.push_back(call.at);
    }
    return moments;
  }

  std::map<std::uint32_t, Answer> answers;  // By target; others answer well, at once.
  std::vector<Call> calls;
  std::size_t under_way = 0;
  std::size_t under_way_most = 0;
  std::vector<std::uint32_t> cut_short;  // Targets whose probe was ended by us.

 private:
  struct Place {
    explicit Place(FakeProber& owner) : prober(owner) {
      ++prober.under_way;
      prober.under_way_most = std::max(prober.under_way_most, prober.under_way);
    }
    ~Place() { --prober.under_way; }
    FakeProber& prober;
  };

  Loop& loop_;
};

// The checker runs from the beginning.
struct CheckedWorld : VirtualWorld {
  explicit CheckedWorld(HealthCheckLimits limits = {})
      : checker(loop, prober, random, metrics, limits) {
    start();
  }
  ~CheckedWorld() { crash(); }

  void start() {
    scope.emplace(loop);
    scope->spawn(&CheckedWorld::keep_answer, this);
  }
  void stop() {
    scope->cancel();
    settle();
  }
  void crash() { scope.reset(); }

  api::Health health(std::uint32_t number) const { return checker.verdict(check(number)).health; }

  // The value of the sample of that name and labels.
  std::string metric(const std::string& name) {
    const std::string text = "\n" + metrics.text();
    const std::string start = "\n" + name + " ";
    const std::size_t at = text.find(start);
    if (at == std::string::npos) return "none";
    const std::size_t begin = at + start.size();
    return text.substr(begin, text.find('\n', begin) - begin);
  }

  SeededRandom random{7};
  Metrics metrics;
  FakeProber prober{loop};
  HealthChecker checker;
  Result<> answer;  // Of run(), when it has ended.
  std::optional<Scope> scope;

 private:
  static Task<Result<>> keep_answer(CheckedWorld* world) {
    world->answer = co_await world->checker.run();
    co_return Result<>{};
  }
};

}  // namespace isthmus::infra
