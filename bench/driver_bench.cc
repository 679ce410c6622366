// What the nft driver costs at full size: 1,000 load balancers with 100 targets each, beside a
// program that only changes as many elements (raw_nft.h). It makes a network namespace of its own,
// as root or in a user namespace, so nothing is left behind however it ends.
#include <linux/netlink.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/raw_nft.h"
#include "isthmus/infra/drivers/kernel_events.h"
#include "isthmus/infra/drivers/nft_driver.h"
#include "isthmus/infra/drivers/plan.h"

namespace isthmus::infra::drivers {
namespace {

constexpr std::size_t kBalancers = 1000;
constexpr std::size_t kTargets = 100;
constexpr std::size_t kRuns = 5;
// Small changes are made often enough to be measured.
constexpr std::size_t kSmallChanges = 200;
constexpr unsigned kSettleMicroseconds = 500'000;
// A listener's own elements beside its slots: listeners, ports, masquerade and the guard.
constexpr std::size_t kElements = kBalancers * (kSlots + 4);

[[noreturn]] void give_up(const std::string& why) {
  std::fprintf(stderr, "driver_bench: %s\n", why.c_str());
  std::exit(1);
}

template <class T>
T must(Result<T> result) {
  if (!result) give_up(result.error().message);
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

// In a network namespace of our own.
void leave_the_machine_alone() {
  if (::unshare(CLONE_NEWNET) == 0) return;
  std::string user = std::to_string(::getuid());
  std::string group = std::to_string(::getgid());
  if (::unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) give_up("the kernel allows no namespaces here");
  std::ofstream("/proc/self/setgroups") << "deny";
  std::ofstream("/proc/self/uid_map") << "0 " + user + " 1";
  std::ofstream("/proc/self/gid_map") << "0 " + group + " 1";
}

double seconds_of(clockid_t clock) {
  timespec now{};
  (void)::clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

double wall_of(const std::function<void()>& work) {
  double begun = seconds_of(CLOCK_MONOTONIC);
  work();
  return seconds_of(CLOCK_MONOTONIC) - begun;
}

// Of this process and of the kernel for it.
double cpu_of(const std::function<void()>& work) {
  double begun = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
  work();
  return seconds_of(CLOCK_PROCESS_CPUTIME_ID) - begun;
}

IpAddress numbered(std::uint8_t network, std::size_t number) {
  return {IpFamily::v4,
          {10, network, static_cast<std::uint8_t>(number / 250),
           static_cast<std::uint8_t>(number % 250 + 1)}};
}

// Each with targets of its own, the way inline targets come.
std::vector<Balancer> all_balancers() {
  std::vector<Balancer> all(kBalancers);
  for (std::size_t i = 0; i < kBalancers; ++i) {
    all[i].note = "bench/" + std::to_string(i) + " 1";
    all[i].addresses = {numbered(1, i)};
    all[i].listeners = {{Protocol::tcp, 80, 0}};
    all[i].groups.resize(1);
    for (std::size_t target = 0; target < kTargets; ++target) {
      all[i].groups[0].push_back({.endpoint = {numbered(88, target), 30080}});
    }
  }
  return all;
}

// Seconds.
struct Figures {
  double first_apply = 0;
  double observe = 0;
  double one_changed_cpu = 0;
  double all_changed = 0;
};

// Every measurement changes something to the right and back, `runs` times.
Figures measure_driver(std::vector<Balancer> balancers) {
  NetlinkSocket socket = must(NetlinkSocket::open(NETLINK_NETFILTER));
  // As in the program, somebody listens to changes of rules, which the kernel must tell then.
  KernelEvents events = must(KernelEvents::open(socket.port(), 0));
  NftDriver driver(std::move(socket));
  Figures figures;
  Held held;
  auto make_so = [&](const Wish& wish) {
    Plan plan = must(make_plan(held, wish));
    events.ignore_rules(true);
    must(driver.apply(plan, held));
    events.ignore_rules(false);
  };
  figures.first_apply = wall_of([&] {
    held = must(driver.observe());
    make_so({.balancers = balancers});
  });

  // The kernel resizes its tables behind such a change, and a reading meanwhile is not to be
  // trusted.
  (void)::usleep(kSettleMicroseconds);
  figures.observe = wall_of([&] {
    held = must(driver.observe());
    if (!must(make_plan(held, {.balancers = balancers})).empty()) give_up("it is not as it was");
  });

  // In another balancer each time, as changes come.
  figures.one_changed_cpu = cpu_of([&] {
                              for (std::size_t i = 0; i < kSmallChanges; ++i) {
                                Balancer& one = balancers[i * 7 % kBalancers];
                                one.groups[0][i % kTargets].endpoint.address = numbered(89, i);
                                make_so({.balancers = {one}, .rest = Rest::keep});
                              }
                            }) /
                            static_cast<double>(kSmallChanges);

  for (Balancer& one : balancers) {
    one.groups[0].push_back({.endpoint = {numbered(90, 0), 30080}});
  }
  figures.all_changed = wall_of([&] { make_so({.balancers = balancers}); });
  return figures;
}

Figures measure_raw() {
  RawMaps maps(kElements, kSlotsParts);
  Figures figures;
  figures.first_apply = wall_of([&] { maps.add(); });
  (void)::usleep(kSettleMicroseconds);
  figures.observe = wall_of([&] {
    if (maps.count() != kElements) give_up("the raw peer lost elements");
  });
  figures.one_changed_cpu = cpu_of([&] {
                              for (std::size_t i = 0; i < kSmallChanges; ++i) {
                                maps.change(i * 7 % kBalancers * kSlots, 1, 1);
                              }
                            }) /
                            static_cast<double>(kSmallChanges);
  figures.all_changed = wall_of([&] { maps.change(0, kBalancers, kSlots); });
  return figures;
}

Figures median_of(const std::vector<Figures>& all) {
  auto median = [&](double Figures::* figure) {
    std::vector<double> values;
    for (const Figures& one : all) values.push_back(one.*figure);
    std::ranges::sort(values);
    return values[values.size() / 2];
  };
  return {median(&Figures::first_apply), median(&Figures::observe),
          median(&Figures::one_changed_cpu), median(&Figures::all_changed)};
}

void print(const char* what, double driver, double raw, double target, const char* unit) {
  double scale = std::string_view(unit) == "ms" ? 1000 : 1;
  std::printf("%-58s %7.3f %-2s %9.3f %-2s %7.3g %-2s%s\n", what, driver * scale, unit, raw * scale,
              unit, target * scale, unit, driver <= target ? "" : "  over");
}

void run() {
  std::vector<Figures> drivers;
  std::vector<Figures> raws;
  for (std::size_t i = 0; i < kRuns; ++i) {
    leave_the_machine_alone();
    drivers.push_back(measure_driver(all_balancers()));
    leave_the_machine_alone();
    raws.push_back(measure_raw());
  }
  Figures driver = median_of(drivers);
  Figures raw = median_of(raws);
  std::printf("nft driver, %zu load balancers x %zu targets, %zu elements, medians of %zu\n",
              kBalancers, kTargets, kElements, kRuns);
  std::printf("%-58s %10s %12s %10s\n", "what", "driver", "raw peer", "target");
  print("first apply: observe, plan, apply", driver.first_apply, raw.first_apply, 0.5, "s");
  print("restart, all right: observe, plan nothing", driver.observe, raw.observe, 0.5, "s");
  print("one target changed: plan, apply (CPU)", driver.one_changed_cpu, raw.one_changed_cpu, 0.001,
        "ms");
  print("one target more in every load balancer: plan, apply", driver.all_changed, raw.all_changed,
        1, "s");
}

}  // namespace
}  // namespace isthmus::infra::drivers

int main() {
  isthmus::infra::drivers::run();
  return 0;
}
