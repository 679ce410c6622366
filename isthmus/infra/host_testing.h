// A host that is only imagined: doors onto a kernel that is imagined as well, which fail from the
// n-th step on as if the process had been killed there.
#pragma once

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "isthmus/infra/drivers/plan.h"
#include "isthmus/infra/host.h"
#include "isthmus/infra/kernel_testing.h"
#include "isthmus/infra/routes_testing.h"

namespace isthmus::infra::testing {

// The doors of one process onto the kernel.
class FakeHost final : public Host {
 public:
  explicit FakeHost(FakeKernel& kernel)
      : kernel_(kernel),
        driver_(*this),
        book_(*this),
        link_(*this),
        announcer_(*this),
        source_(*this),
        watch_(*this),
        routes_(kernel, [this] { return step(); }) {}

  // The step after so many is never made, nor any later one.
  void die_after(std::size_t steps) { steps_left_ = steps; }
  void live() { steps_left_.reset(); }
  bool is_dead() const { return dead_; }

  // Counts a step; false: the process is gone, and nothing it does has any effect.
  bool step() {
    if (steps_left_ && *steps_left_ == 0) dead_ = true;
    if (!dead_ && steps_left_) --*steps_left_;
    return !dead_;
  }

  // Answers this to whatever the driver is asked to apply, until it is reset.
  std::optional<Error> refuse_to_apply;
  std::optional<Error> refuse_to_observe;

  drivers::BalancerDriver& balancers() override { return driver_; }
  drivers::AddressBook& addresses() override { return book_; }
  drivers::ProbeLink& probe_link() override { return link_; }
  drivers::Announcer& announcer() override { return announcer_; }
  drivers::ChangeSource& changes() override { return source_; }
  drivers::FlowWatch& flows() override { return watch_; }
  FakeRoutes& routes() override { return routes_; }
  Result<> forwards(IpFamily family) override {
    if (!kernel_.not_forwarded.contains(family)) return {};
    return fail(Outcome::invalid, "run as root: sysctl");
  }
  Result<std::vector<std::string>> dropping_chains() override { return kernel_.dropping_chains; }

 private:
  static std::unexpected<Error> killed() { return fail(Outcome::lost, "the process is gone"); }

  struct Driver final : drivers::BalancerDriver {
    explicit Driver(FakeHost& host_) : host(host_) {}

    Result<drivers::Held> observe() override {
      if (host.dead_) return killed();
      if (host.refuse_to_observe) return std::unexpected(*host.refuse_to_observe);
      if (host.kernel_.foreign_table) {
        return fail(Outcome::conflict, "there is a table inet isthmus that we did not make");
      }
      return host.kernel_.held;
    }

    Result<std::uint32_t> generation() override { return host.kernel_.held.generation; }

    Result<> apply(const drivers::Plan& plan, drivers::Held& held) override {
      if (host.refuse_to_apply) return std::unexpected(*host.refuse_to_apply);
      if (host.kernel_.foreign_table) return fail(Outcome::conflict, "a foreign table");
      // One change after the other, each a transaction of its own.
      std::vector<drivers::Plan> parts = apart(plan);
      for (const drivers::Plan& part : parts) {
        if (!host.step()) return killed();
        for (const drivers::ListenerChange& change : part.listeners) {
          if (host.kernel_.cannot_hold.contains(change.key)) {
            return fail(Outcome::invalid, to_string(change.key) + " does not fit a transaction");
          }
          auto found = host.kernel_.held.listeners.find(change.key);
          const drivers::HeldListener present =
              found == host.kernel_.held.listeners.end() ? drivers::HeldListener{} : found->second;
          if (present != change.from) return fail(Outcome::conflict, "not as it was planned from");
        }
        drivers::carry_out(part, host.kernel_.held);
        drivers::carry_out(part, held);
        held.generation = ++host.kernel_.held.generation;
        host.kernel_.written();
      }
      return {};
    }

    static std::vector<drivers::Plan> apart(const drivers::Plan& plan) {
      std::vector<drivers::Plan> parts;
      if (plan.build) parts.emplace_back().build = true;
      if (!plan.links_added.empty() || !plan.links_removed.empty()) {
        drivers::Plan& part = parts.emplace_back();
        part.links_added = plan.links_added;
        part.links_removed = plan.links_removed;
      }
      for (const IpAddress& one : plan.guarded_added) parts.emplace_back().guarded_added = {one};
      for (const drivers::ListenerChange& one : plan.listeners) {
        parts.emplace_back().listeners = {one};
      }
      for (const IpAddress& one : plan.guarded_removed) {
        parts.emplace_back().guarded_removed = {one};
      }
      return parts;
    }

    FakeHost& host;
  };

  struct Book final : drivers::AddressBook {
    explicit Book(FakeHost& host_) : host(host_) {}

    Result<std::vector<drivers::InterfaceAddress>> observe() override {
      if (host.dead_) return killed();
      std::vector<drivers::InterfaceAddress> present = host.kernel_.addresses;
      for (drivers::InterfaceAddress& one : present) {
        one.link_down = host.kernel_.down.contains(one.interface);
      }
      return present;
    }

    Result<> bind(const drivers::BoundAddress& address) override {
      if (!host.step()) return killed();
      if (!host.kernel_.interfaces.contains(address.interface)) {
        return fail(Outcome::absent, "this host has no interface " + address.interface);
      }
      auto same = [&](const drivers::InterfaceAddress& one) {
        return one.address == address.address && one.interface == address.interface;
      };
      if (std::ranges::any_of(host.kernel_.addresses, same)) return fail(Outcome::conflict, "");
      const auto bits = static_cast<std::uint8_t>(address.address.size() * 8);
      host.kernel_.addresses.push_back({address.address, bits, address.interface, true});
      host.kernel_.written();
      return {};
    }

    Result<> unbind(const drivers::BoundAddress& address) override {
      if (!host.step()) return killed();
      if (host.kernel_.cannot_unbind.contains(address.address)) {
        return fail(Outcome::busy, "the kernel is out of memory");
      }
      const std::size_t gone =
          std::erase_if(host.kernel_.addresses, [&](const drivers::InterfaceAddress& one) {
            return one.ours && one.address == address.address && one.interface == address.interface;
          });
      if (gone == 0) return fail(Outcome::absent, "it is not there");
      host.kernel_.written();
      return {};
    }

    FakeHost& host;
  };

  struct Link final : drivers::ProbeLink {
    explicit Link(FakeHost& host_) : host(host_) {}

    Result<> ask(const drivers::BoundAddress& address) override {
      if (!host.step()) return killed();
      host.kernel_.asked.push_back(address);
      auto found = host.kernel_.neighbours.find(address.address);
      if (found != host.kernel_.neighbours.end()) {
        answers.push_back({address.interface, {address.address, found->second, false}});
      }
      return {};
    }
    Result<std::vector<Heard>> heard() override { return std::exchange(answers, {}); }
    void rest() override { answers.clear(); }

    FakeHost& host;
    std::vector<Heard> answers;
  };

  struct Announcer final : drivers::Announcer {
    explicit Announcer(FakeHost& host_) : host(host_) {}
    Result<> announce(const IpAddress& address, const std::string&) override {
      if (!host.step()) return killed();
      if (!host.kernel_.has(address)) {
        host.kernel_.violations.push_back(to_string(address) + " is announced and not bound");
      }
      ++host.kernel_.announced[address];
      return {};
    }
    FakeHost& host;
  };

  struct Source final : drivers::ChangeSource {
    explicit Source(FakeHost& host_) : host(host_) {}
    Result<drivers::KernelChanges> drain() override {
      return std::exchange(host.kernel_.changes, {});
    }
    void ignore_rules(bool) override {}
    FakeHost& host;
  };

  struct Watch final : drivers::FlowWatch {
    explicit Watch(FakeHost& host_) : host(host_) {}
    Result<std::vector<drivers::FlowHealth>> look(
        const std::set<drivers::ListenerKey>& listeners) override {
      std::vector<drivers::FlowHealth> found;
      for (const drivers::FlowHealth& flow : host.kernel_.flows) {
        if (listeners.contains(flow.listener)) found.push_back(flow);
      }
      return found;
    }
    FakeHost& host;
  };

  FakeKernel& kernel_;
  Driver driver_;
  Book book_;
  Link link_;
  Announcer announcer_;
  Source source_;
  Watch watch_;
  FakeRoutes routes_;
  std::optional<std::size_t> steps_left_;
  bool dead_ = false;
};

}  // namespace isthmus::infra::testing
