// Everything at once, by chance: people change their minds, the process is killed, the store and
// the kernel fail for a while, others meddle. When all that ends, what should be is.
#include "isthmus/infra/reconciler_testing.h"

namespace isthmus::infra {
namespace {

using namespace testing;

class Chaos {
 public:
  Chaos(std::uint64_t seed, bool meddled) : random_(seed), meddled_(meddled) { restart(); }

  void run(int steps) {
    for (int i = 0; i < steps; ++i) step();
    calm_down();
    process_->host.live();
    if (process_->host.is_dead() || below(2) == 0) restart();
    world_.advance(5min);
    expect_converged(*process_, kernel_);
    if (!meddled_) EXPECT_EQ(kernel_.violations, std::vector<std::string>{});
  }

 private:
  std::uint64_t below(std::uint64_t bound) { return random_.below(bound); }
  ObjectName any_name() { return {"prod", std::string(1, static_cast<char>('a' + below(4)))}; }
  IpAddress any_address() {
    IpAddress address = kVip;
    address.bytes[3] = static_cast<std::uint8_t>(address.bytes[3] + below(4));
    return address;
  }

  void step() {
    switch (below(meddled_ ? 12 : 8)) {
      case 0:
      case 1:
      case 2:
        (void)process_->put(any_balancer());
        break;
      case 3:
        (void)process_->remove(any_name());
        break;
      case 4:
        if (below(2) == 0) process_->host.die_after(below(12));
        break;
      case 5:
        restart();
        break;
      case 6:
        fail_for_a_while();
        break;
      case 7:
        change_the_set();
        break;
      default:
        meddle();
        break;
    }
    if (process_->host.is_dead()) restart();
    world_.advance(std::chrono::milliseconds(below(3) == 0 ? below(2000) : below(50)));
  }

  api::LoadBalancer any_balancer() {
    api::LoadBalancer balancer = a_balancer(any_name());
    if (below(3) == 0) {
      balancer.spec.sharing_key = "shared";
      balancer.spec.listeners[0].port = static_cast<std::uint16_t>(80 + below(3));
    }
    if (below(3) == 0) balancer.spec.addresses = {any_address()};
    if (below(3) == 0) balancer.spec.target_groups[0].health_check = api::HealthCheck{};
    if (below(3) == 0) {
      balancer.spec.target_groups[0].targets.clear();
      balancer.spec.target_groups[0].target_set = "nodes";
      balancer.spec.target_groups[0].port = 30080;
    }
    return balancer;
  }

  void change_the_set() {
    api::TargetSet set;
    set.metadata.owner = "prod";
    set.metadata.name = "nodes";
    for (std::uint64_t i = 0; i <= below(4); ++i) {
      IpAddress address = ip("10.1.0.0");
      address.bytes[3] = static_cast<std::uint8_t>(1 + i);
      set.targets.push_back({.name = "n" + std::to_string(i), .addresses = {address}});
    }
    (void)world_.run(process_->ledger.put(set, {}, false));
  }

  void fail_for_a_while() {
    calm_down();
    switch (below(5)) {
      case 0:
        process_->store.is_down = true;
        break;
      case 1:
        process_->host.refuse_to_apply = Error{Outcome::busy, "out of memory"};
        break;
      case 2:
        kernel_.cannot_unbind.insert(any_address());
        break;
      case 3:
        kernel_.neighbours[any_address()] = {2, 0, 0, 0, 0, 9};
        break;
      default:
        process_->prober.down.insert({ip("10.1.0.1"), 30080});
        break;
    }
  }

  void calm_down() {
    process_->store.is_down = false;
    process_->host.refuse_to_apply.reset();
    process_->prober.down.clear();
    kernel_.cannot_unbind.clear();
    kernel_.neighbours.clear();
    kernel_.foreign_table = false;
  }

  // What others do is sometimes told by the kernel, and sometimes lost.
  void meddle() {
    switch (below(5)) {
      case 0:
        kernel_.held = {};
        break;
      case 1:
        if (!kernel_.held.listeners.empty()) {
          kernel_.held.listeners.erase(kernel_.held.listeners.begin());
        }
        break;
      case 2:
        kernel_.held.guarded.clear();
        break;
      case 3:
        std::erase_if(kernel_.addresses, [](const auto& one) { return one.ours; });
        break;
      default:
        kernel_.held.listeners[{any_address(), drivers::Protocol::tcp, 22}] = {
            .passed = true, .note = "somebody", .sources = {}, .loops = {}};
        break;
    }
    ++kernel_.held.generation;
    if (below(2) == 0) kernel_.changes = {.addresses = true, .rules = true};
  }

  void restart() {
    process_.reset();
    process_ = std::make_unique<Process>(world_, *store_, kernel_);
    ASSERT_TRUE(process_->start());
  }

  SeededRandom random_;
  const bool meddled_;
  VirtualWorld world_;
  std::unique_ptr<Store> store_ = open_sqlite_store(":memory:").value();
  FakeKernel kernel_;
  std::unique_ptr<Process> process_;
};

TEST(ReconcilerChaos, ends_in_what_should_be_and_no_address_was_ever_bare) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Chaos(seed, false).run(60);
    ASSERT_FALSE(::testing::Test::HasFailure());
  }
}

TEST(ReconcilerChaos, ends_in_what_should_be_also_when_others_meddle) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Chaos(seed, true).run(60);
    ASSERT_FALSE(::testing::Test::HasFailure());
  }
}

}  // namespace
}  // namespace isthmus::infra
