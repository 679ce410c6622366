// The ledger over a real store, killed: operations run beside each other, and at a random moment,
// before or after any call of the store has taken effect, everything is dropped where it stands.
// What the next process finds in the file keeps the promises of allocator.h.
//
// Lives are numbered; a failure names its number, and is the same each time.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "isthmus/base/random.h"
#include "isthmus/base/virtual_world.h"
#include "isthmus/infra/allocator_rules_testing.h"
#include "isthmus/infra/ledger.h"
#include "isthmus/infra/ledger_testing.h"
#include "isthmus/infra/store/sqlite_store.h"
#include "isthmus/net/temporary_directory_testing.h"

namespace isthmus::infra {
namespace {

constexpr std::uint64_t kLives = 12;
constexpr int kProcesses = 8;       // One after the other in each life.
constexpr int kTurnsOfProcess = 5;  // Of operations beside each other.

// Passes calls on, gives way to others around each, and can come to stand for ever at one of them.
class StoreToKill final : public Store {
 public:
  explicit StoreToKill(Store& inner) : inner_(inner) {}

  // The process is as good as dead after so many moments; 0: it goes on.
  void stand_still_in(std::uint64_t moments) { moments_left_ = moments; }
  bool stands_still() const { return stands_still_; }

  Task<Result<Snapshot>> read(Range range) override {
    CO_TRY(co_await moment());
    Result<Snapshot> snapshot = co_await inner_.read(std::move(range));
    co_return snapshot;
  }
  Task<Result<Revision>> commit(std::vector<Condition> conditions,
                                std::vector<Write> writes) override {
    CO_TRY(co_await moment());
    Result<Revision> revision = co_await inner_.commit(std::move(conditions), std::move(writes));
    CO_TRY(co_await moment());
    co_return revision;
  }
  Task<Result<Changes>> watch(std::string prefix, Revision after, std::size_t limit) override {
    CO_TRY(co_await moment());
    Result<Changes> changes = co_await inner_.watch(std::move(prefix), after, limit);
    co_return changes;
  }
  Task<Result<>> compact(Revision before) override {
    Result<> compacted = co_await inner_.compact(before);
    co_return compacted;
  }

 private:
  Task<Result<>> moment() {
    if (moments_left_ > 0 && --moments_left_ == 0) stands_still_ = true;
    if (stands_still_) CO_TRY(co_await never_.wait());
    Result<> slept = co_await sleep_for(Duration::zero());
    co_return slept;
  }

  Store& inner_;
  std::uint64_t moments_left_ = 0;
  bool stands_still_ = false;
  Signal never_;
};

Task<Result<>> put(Ledger& ledger, api::LoadBalancer said) {
  Result<BalancerPlan> plan = co_await ledger.put(std::move(said), {}, nullptr, false);
  co_return plan ? Result<>{} : Result<>(std::unexpected(plan.error()));
}

Task<Result<>> remove(Ledger& ledger, ObjectName name) {
  Result<BalancerPlan> plan = co_await ledger.remove(std::move(name), {}, false);
  co_return plan ? Result<>{} : Result<>(std::unexpected(plan.error()));
}

// Refused while addresses are held, which is fine.
Task<Result<>> take_pool_away(Ledger& ledger) {
  Result<std::vector<std::string>> changed =
      co_await ledger.load_pools({a_pool("public", kPublicRanges)});
  co_return changed || changed.outcome() == Outcome::invalid
      ? Result<>{}
      : Result<>(std::unexpected(changed.error()));
}

class Life {
 public:
  explicit Life(std::uint64_t seed) : random_(seed) {}

  void run() {
    for (int process = 0; process < kProcesses; ++process) {
      run_process();
      if (testing::Test::HasFailure()) return;
    }
  }

  int operations() const { return operations_; }

 private:
  void run_process() {
    std::unique_ptr<Store> file = open_sqlite_store(directory_.path("infra.db")).value();
    StoreToKill store(*file);
    Ledger ledger(store, world_.loop, random_, "lb1");
    ledger.found_in_kernel({}, {});
    ASSERT_TRUE(world_.run(
        ledger.load_pools({a_pool("public", kPublicRanges), a_pool("reserved", kReservedRanges)})));
    check(*file, {});
    bool is_killed = random_.below(4) != 0;
    if (is_killed) store.stand_still_in(1 + random_.below(80));
    for (int turn = 0; turn < kTurnsOfProcess; ++turn) {
      actors_.clear();
      Scope operations(world_.loop);
      for (std::uint64_t count = 1 + random_.below(6); count > 0; --count)
        begin(operations, ledger);
      world_.loop.run_until([&] { return store.stands_still() || operations.children() == 0; });
      // The next process finds out what came of them; the scope drops them here.
      if (store.stands_still()) return;
      check(*file, std::exchange(actors_, {}));
      if (random_.below(3) == 0) world_.advance(std::chrono::seconds(random_.below(400)));
    }
  }

  // One operation of somebody who is not at it already.
  void begin(Scope& operations, Ledger& ledger) {
    const ObjectName name = name_of(static_cast<int>(random_.below(8)));
    if (!actors_.insert(name).second) return;
    ++operations_;
    auto number = [this](std::uint64_t below) { return static_cast<int>(random_.below(below)); };
    const int kind = number(10);
    if (kind < 5) {
      api::LoadBalancer said = a_balancer(name);
      std::string group = said.spec.target_groups.front().name;
      std::vector<api::TargetGroup> groups = std::move(said.spec.target_groups);
      said.spec = wish_of(number(14), number(4), 1 + number(7), number(400));
      for (api::Listener& listener : said.spec.listeners) listener.target_group = group;
      said.spec.target_groups = std::move(groups);
      operations.spawn(put, std::ref(ledger), std::move(said));
    } else if (kind < 7) {
      operations.spawn(remove, std::ref(ledger), name);
    } else if (kind < 9) {
      operations.spawn(&Ledger::finalize, &ledger, std::vector<ObjectName>{name});
    } else if (number(2) == 0) {
      operations.spawn(&Ledger::forget, &ledger);
    } else {
      operations.spawn(take_pool_away, std::ref(ledger));
    }
  }

  // By what the file says, not by what the process remembers.
  void check(Store& file, const Holders& actors) {
    Ledger reader(file, world_.loop, random_, "lb1");
    Result<Ledger::Snapshot> now = world_.run(reader.latest());
    ASSERT_TRUE(now);
    EXPECT_EQ(wrong_with(**now), "");
    Holders everybody = actors;
    everybody.insert(actors_.begin(), actors_.end());
    EXPECT_EQ(unlawful_change(known_, **now, {}, everybody, world_.loop.wall_now(), epochs_), "");
    known_ = **now;
  }

  SeededRandom random_;
  VirtualWorld world_;
  net::TemporaryDirectory directory_;
  LedgerSnapshot known_;  // What stood when it was last looked at.
  Holders actors_;        // Who did something since.
  Epochs epochs_;
  int operations_ = 0;
};

TEST(allocator_kill, addresses_are_safe_whenever_the_process_is_killed) {
  int operations = 0;
  for (std::uint64_t seed = 1; seed <= kLives && !HasFailure(); ++seed) {
    SCOPED_TRACE(fmt::format("life {}", seed));
    Life life(seed);
    life.run();
    operations += life.operations();
  }
  EXPECT_GT(operations, 300);
}

}  // namespace
}  // namespace isthmus::infra
