#include "isthmus/infra/due_slices.h"

#include <gtest/gtest.h>

#include <algorithm>

#include <fmt/format.h>

#include "isthmus/infra/kernel_testing.h"

namespace isthmus::infra {
namespace {

using Names = BalancerBook::Names;

ObjectName numbered(int number) { return {"prod", fmt::format("web{:03}", number)}; }

// A hundred load balancers that use one set of a thousand targets, and were looked at before.
class DueSlicesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    TargetSetRecord set;
    set.set.targets.resize(1000);
    ledger.target_sets[{"prod", "nodes"}] = std::make_shared<const TargetSetRecord>(set);
    for (int i = 0; i < 100; ++i) write(numbered(i), 1);
    all = take_in();
    for (auto& [name, entry] : book.entries()) entry.is_new = false;
  }

  void write(const ObjectName& name, std::uint64_t generation) {
    BalancerRecord user;
    user.metadata.owner = name.owner;
    user.metadata.name = name.name;
    user.metadata.generation = generation;
    user.spec.target_groups.resize(1);
    user.spec.target_groups[0].target_set = "nodes";
    ledger.balancers[name] = std::make_shared<const BalancerRecord>(user);
  }
  Names take_in() { return book.take_in(std::make_shared<const LedgerSnapshot>(ledger), Moment{}); }

  LedgerSnapshot ledger;
  BalancerBook book;
  DueSlices due;
  Names all;
};

TEST_F(DueSlicesTest, everybody_has_a_turn_once) {
  due.add(all, book);
  Names seen;
  while (!due.empty()) {
    const Names slice = due.take(book);
    EXPECT_FALSE(slice.empty());
    EXPECT_LE(slice.size(), 10);  // Of 1,000 targets each.
    for (const ObjectName& name : slice) EXPECT_TRUE(seen.insert(name).second);
  }
  EXPECT_EQ(seen, all);
}

TEST_F(DueSlicesTest, who_was_written_goes_before_those_whose_set_was_changed) {
  due.add(all, book);
  (void)due.take(book);
  write(numbered(99), 2);
  write(numbered(200), 1);
  due.add(take_in(), book);
  const Names slice = due.take(book);
  EXPECT_TRUE(slice.contains(numbered(99)));
  EXPECT_TRUE(slice.contains(numbered(200)));
}

TEST_F(DueSlicesTest, those_who_wait_have_a_part_however_much_is_written) {
  due.add(all, book);
  for (int slice = 0; slice < 100; ++slice) {
    for (int i = 200; i < 300; ++i) write(numbered(i), 1 + static_cast<unsigned>(slice));
    due.add(take_in(), book);
    std::erase_if(all, [taken = due.take(book)](const auto& name) { return taken.contains(name); });
  }
  EXPECT_TRUE(all.empty());
}

TEST_F(DueSlicesTest, who_is_due_again_does_not_keep_the_others_from_their_turn) {
  const Names everybody = all;
  for (int slice = 0; slice < 15; ++slice) {
    due.add(everybody, book);
    std::erase_if(all, [taken = due.take(book)](const auto& name) { return taken.contains(name); });
  }
  EXPECT_TRUE(all.empty());
}

TEST_F(DueSlicesTest, who_only_needs_an_address_is_no_trouble) {
  for (auto& [name, entry] : book.entries()) entry.rules_due = false;
  due.add(all, book);
  EXPECT_EQ(due.take(book), all);
  EXPECT_TRUE(due.empty());
}

}  // namespace
}  // namespace isthmus::infra
