// Random lives of a ledger over a store that fails and a process that crashes, each step held
// against what must always be true. A failure names its seed.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>

#include "isthmus/base/virtual_world.h"
#include "isthmus/infra/faulty_store_testing.h"
#include "isthmus/infra/ledger.h"
#include "isthmus/infra/ledger_testing.h"
#include "isthmus/infra/store/sqlite_store.h"

namespace isthmus::infra {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kLives = 100;
constexpr int kSteps = 60;

template <class Records>
bool equal_records(const Records& left, const Records& right) {
  return std::ranges::equal(left, right, [](const auto& one, const auto& other) {
    return one.first == other.first && *one.second == *other.second;
  });
}

// One life. Eight names want five addresses.
class Life {
 public:
  explicit Life(std::uint64_t seed) : random_(seed) {
    restart();
    EXPECT_TRUE(world_.run(ledger_->load_pools(
        {a_pool("public", {"192.0.2.0/30"}), a_pool("spare", {"198.51.100.1/32"})})));
  }

  void step() {
    // The commit fails, or is done and the answer is lost, or all is well.
    store_.commit_failure.reset();
    store_.lost_answer.reset();
    const std::uint64_t luck = random_.below(10);
    if (luck == 0) store_.commit_failure = Error{Outcome::lost, "disk full"};
    if (luck == 1) store_.lost_answer = Error{Outcome::lost, "cut off"};
    act();
    if (luck <= 1 || random_.below(10) == 0) restart();
  }

  void check() {
    LedgerMemory fresh(*sqlite_);
    LedgerMemory::Snapshot truth = world_.run(fresh.latest()).value();
    Ledger::Snapshot seen = world_.run(ledger_->latest()).value();
    EXPECT_EQ(seen->lock, truth->lock);
    EXPECT_TRUE(equal_records(seen->balancers, truth->balancers));
    EXPECT_TRUE(equal_records(seen->addresses, truth->addresses));
    EXPECT_TRUE(equal_records(seen->statuses, truth->statuses));
    check_holders(*truth);
    check_addresses(*truth);
  }

 private:
  void restart() {
    ledger_.emplace(store_, world_.loop, random_, "lb1");
    ledger_->found_in_kernel({}, {});
  }

  void act() {
    const ObjectName name{"prod", fmt::format("lb-{}", random_.below(8))};
    const auto port = static_cast<std::uint16_t>(80 + random_.below(3));
    // What fails is seen in the store.
    switch (random_.below(8)) {
      case 0:
      case 1:
      case 2:
        (void)world_.run(ledger_->put(a_balancer(name, {port}), {}, nullptr, false));
        break;
      case 3:
        (void)world_.run(ledger_->remove(name, {}, false));
        break;
      case 4:
        (void)world_.run(ledger_->finalize({name, {"prod", "lb-0"}}));
        break;
      case 5:
        (void)world_.run(ledger_->report({{name, a_status(port)}}));
        break;
      case 6:
        (void)world_.run(ledger_->forget());
        break;
      default:
        world_.advance(random_.between(1s, 10min));
    }
  }

  static api::LoadBalancerStatus a_status(std::uint64_t repairs) {
    api::LoadBalancerStatus status;
    status.repairs = repairs;
    return status;
  }

  // Addresses and their holders name each other, and nobody shares.
  void check_holders(const LedgerSnapshot& truth) {
    for (const auto& [address, record] : truth.addresses) {
      EXPECT_LE(record->holders.size(), 1u) << to_string(address);
      for (const std::string& holder : record->holders) {
        const BalancerRecord* balancer = truth.balancer({record->owner, holder});
        ASSERT_NE(balancer, nullptr) << holder;
        EXPECT_EQ(std::ranges::count(balancer->addresses, address), 1) << holder;
      }
    }
    for (const auto& [name, record] : truth.balancers) {
      EXPECT_EQ(record->addresses.size(), record->is_tombstone() ? 0u : 1u) << name.name;
      for (const IpAddress& address : record->addresses) {
        const AddressRecord* held = truth.address(address);
        ASSERT_NE(held, nullptr) << name.name;
        EXPECT_EQ(held->holders, std::vector<std::string>{name.name});
      }
    }
  }

  // No address changes while its load balancer stands, and generations never go back.
  void check_addresses(const LedgerSnapshot& truth) {
    for (const auto& [name, record] : truth.balancers) {
      auto before = before_.find(name);
      const bool stood = before != before_.end() && !before->second.is_tombstone();
      if (stood && !record->is_tombstone()) {
        EXPECT_EQ(record->addresses, before->second.addresses);
      }
      if (before != before_.end()) {
        EXPECT_GE(record->metadata.generation, before->second.metadata.generation);
      }
      before_[name] = *record;
    }
  }

  VirtualWorld world_;
  SeededRandom random_;
  std::unique_ptr<Store> sqlite_ = open_sqlite_store(":memory:").value();
  FaultyStore store_{*sqlite_};
  std::optional<Ledger> ledger_;
  std::map<ObjectName, BalancerRecord> before_;
};

TEST(ledger_property, addresses_and_holders_agree_whatever_fails_and_whenever_it_crashes) {
  for (std::uint64_t seed = 1; seed <= kLives; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Life life(seed);
    for (int i = 0; i < kSteps; ++i) {
      life.step();
      life.check();
      if (testing::Test::HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace isthmus::infra
