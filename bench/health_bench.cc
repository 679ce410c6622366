// What health checks cost: 10,000 targets every 5 s against a real local responder, in CPU time of
// this process (on loopback that includes what the kernel does for the responder's side of each
// packet), and the memory of 100,000 checks.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "isthmus/base/virtual_world.h"
#include "isthmus/infra/health_checker.h"
#include "isthmus/net/posix_prober.h"

namespace isthmus {
namespace {

using namespace std::chrono_literals;
namespace api = infra::api;
using infra::Check;

constexpr std::uint32_t kTargets = 10'000;
constexpr std::uint32_t kChecksOfMany = 100'000;
constexpr Duration kWarmUp = 6s;
constexpr Duration kMeasured = 15s;

constexpr double kCoreShareMax = 20;        // Percent of one core.
constexpr double kCpuPerCheckMax = 100;     // Microseconds.
constexpr double kLatenessMax = 50;         // Milliseconds on average.
constexpr double kMegabytesOfManyMax = 20;  // A third of what the whole program may have then.

void print_row(const std::string& what, double value, const char* unit, double target) {
  std::printf("%-58s  %8.3g %-4s  %6g %-4s%s\n", what.c_str(), value, unit, target, unit,
              value <= target ? "" : "  over");
  std::fflush(stdout);
}

// A machine's web server at its simplest, in a process of its own: every address of 127.0.0.0/8
// answers on this port.
class Responder {
 public:
  Responder() {
    const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    socklen_t bytes = sizeof(address);
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    if (::bind(listener, generic, bytes) != 0 || ::listen(listener, 4096) != 0 ||
        ::getsockname(listener, generic, &bytes) != 0) {
      std::perror("responder");
      std::exit(1);
    }
    port_ = ntohs(address.sin_port);
    process_ = ::fork();
    if (process_ == 0) serve(listener);
    ::close(listener);
  }
  ~Responder() {
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }
  std::uint16_t port() const { return port_; }

 private:
  [[noreturn]] static void serve(int listener) {
    static constexpr std::string_view kAnswer =
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok";
    const int poll = ::epoll_create1(0);
    epoll_event wanted{.events = EPOLLIN, .data = {.fd = listener}};
    ::epoll_ctl(poll, EPOLL_CTL_ADD, listener, &wanted);
    std::array<epoll_event, 256> events{};
    for (;;) {
      const int count = ::epoll_wait(poll, events.data(), events.size(), -1);
      for (int i = 0; i < count; ++i) {
        const int number = events[i].data.fd;
        if (number == listener) {
          for (int peer = 0; (peer = ::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK)) >= 0;) {
            epoll_event readable{.events = EPOLLIN, .data = {.fd = peer}};
            ::epoll_ctl(poll, EPOLL_CTL_ADD, peer, &readable);
          }
          continue;
        }
        std::array<char, 1024> request;
        if (::recv(number, request.data(), request.size(), 0) > 0) {
          ::send(number, kAnswer.data(), kAnswer.size(), MSG_NOSIGNAL);
        } else {
          ::close(number);
        }
      }
    }
  }

  std::uint16_t port_ = 0;
  pid_t process_ = -1;
};

std::vector<Check> checks_of(std::uint32_t count, std::uint16_t port,
                             api::HealthCheck::Protocol protocol) {
  std::vector<Check> checks;
  for (std::uint32_t number = 1; number <= count; ++number) {
    const std::uint32_t address = htonl(0x7F010000 + number);
    Check& check = checks.emplace_back();
    std::memcpy(check.address.bytes.data(), &address, sizeof(address));
    check.how.protocol = protocol;
    check.how.port = port;
  }
  return checks;
}

double cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double resident_megabytes() {
  std::ifstream statistics("/proc/self/statm");
  double pages = 0;
  double resident = 0;
  statistics >> pages >> resident;
  return resident * static_cast<double>(::sysconf(_SC_PAGESIZE)) / 1e6;
}

double sample(Metrics& metrics, const std::string& name) {
  const std::string text = metrics.text();
  const std::size_t at = text.find("\n" + name + " ");
  return at == std::string::npos ? 0 : std::strtod(text.c_str() + at + name.size() + 2, nullptr);
}

Task<Result<>> check_for(infra::HealthChecker& checker, Duration time) {
  co_return co_await with_timeout(time, checker.run());
}

void measure_checks(const std::string& kind, api::HealthCheck::Protocol protocol) {
  const Responder responder;
  net::PosixWorld world;
  Metrics metrics;
  const auto prober = net::make_posix_prober(world);
  infra::HealthChecker checker(world.loop(), *prober, world.random(), metrics,
                               {.under_way_max = net::probes_at_once()});
  checker.want("bench", checks_of(kTargets, responder.port(), protocol));
  (void)run_to_end(world.loop(), check_for(checker, kWarmUp));

  const std::string ok = "infra_health_checks_made_total{kind=\"" + kind + "\",result=\"ok\"}";
  const std::string late = "infra_health_check_lateness_seconds_";
  const double made_before = sample(metrics, ok);
  const double late_before = sample(metrics, late + "sum");
  const double cpu_before = cpu_seconds();
  (void)run_to_end(world.loop(), check_for(checker, kMeasured));
  const double cpu = cpu_seconds() - cpu_before;
  const double made = sample(metrics, ok) - made_before;
  const double lateness = sample(metrics, late + "sum") - late_before;

  const double measured = std::chrono::duration<double>(kMeasured).count();
  const std::string what = kind + ", 10,000 targets every 5 s";
  print_row(what + ": of one core", 100 * cpu / measured, "%", kCoreShareMax);
  print_row(what + ": CPU of each check", 1e6 * cpu / made, "us", kCpuPerCheckMax);
  print_row(what + ": begun late by", 1e3 * lateness / made, "ms", kLatenessMax);
  // Numbers of checks that did not end well would make the others look good.
  const double expected = kTargets * measured / 5;
  print_row(what + ": missing of " + std::to_string(static_cast<int>(expected)),
            100 * (1 - made / expected), "%", 1);
}

class InstantProber final : public net::Prober {
 public:
  Task<Result<>> probe(net::ProbeRequest) override { co_return Result<>{}; }
};

void measure_memory() {
  VirtualWorld world;
  InstantProber prober;
  SeededRandom random(1);
  Metrics metrics;
  infra::HealthChecker checker(world.loop, prober, random, metrics);
  const double before = resident_megabytes();
  for (std::uint32_t user = 0; user < kChecksOfMany / 100; ++user) {
    std::vector<Check> checks;
    for (Check& check : checks_of(100, 8080, api::HealthCheck::Protocol::http)) {
      const std::uint32_t address = htonl(0x0A000000 + user * 100 + checks.size());
      std::memcpy(check.address.bytes.data(), &address, sizeof(address));
      checks.push_back(check);
    }
    checker.want("bench/" + std::to_string(user), checks);
  }
  (void)world.run(check_for(checker, 10s));
  print_row("memory of 100,000 checks", resident_megabytes() - before, "MB", kMegabytesOfManyMax);

  const double cpu_before = cpu_seconds();
  constexpr double kRepeats = 10;
  for (int i = 0; i < kRepeats; ++i) checker.take_changed();
  print_row("finding who is affected, of 1,000 users with 100 each",
            1e3 * (cpu_seconds() - cpu_before) / kRepeats, "ms", 5);
}

}  // namespace
}  // namespace isthmus

int main() {
  std::printf("%-58s  %13s  %11s\n", "what", "measured", "target");
  isthmus::measure_memory();
  isthmus::measure_checks("http", isthmus::infra::api::HealthCheck::Protocol::http);
  isthmus::measure_checks("tcp", isthmus::infra::api::HealthCheck::Protocol::tcp);
  return 0;
}
