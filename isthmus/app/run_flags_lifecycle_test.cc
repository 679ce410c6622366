#include "isthmus/app/run_flags_impl.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "isthmus/app/run_flags.h"

namespace isthmus::app {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::vector<std::string> mistakes_of(const LifecycleFlags& flags) {
  Mistakes mistakes;
  check_lifecycle_flags(flags, mistakes);
  return mistakes.list();
}

std::vector<std::string> mistakes_of(const std::vector<std::string>& arguments) {
  LifecycleFlags flags;
  FlagTable table("isthmus run", "");
  add_lifecycle_flags(table, flags);
  return table.parse(arguments).mistakes.list();
}

TEST(lifecycle_flags, mean_the_default_policy_unless_somebody_says_otherwise) {
  const controllers::NodeLifecycleOptions options = lifecycle_options({});
  EXPECT_EQ(options.policy, cloud::DeletionPolicy{});
  EXPECT_FALSE(options.plan.out_of_service);
  EXPECT_EQ(options.rounds.period, 5s);
  EXPECT_THAT(mistakes_of(LifecycleFlags{}), IsEmpty());
}

TEST(lifecycle_flags, say_when_a_node_is_deleted) {
  EXPECT_EQ(lifecycle_options({.deletion = "upstream"}).policy.mode, cloud::DeletionMode::upstream);
  EXPECT_EQ(lifecycle_options({.deletion = "observe"}).policy.mode, cloud::DeletionMode::observe);
  EXPECT_THAT(mistakes_of({"--node-deletion=never"}), ElementsAre(HasSubstr("--node-deletion")));
}

TEST(lifecycle_flags, go_down_to_their_floors_and_the_policy_with_them) {
  const LifecycleFlags floors{.policy = {.confirmations = 2,
                                         .confirmation_spacing = 10s,
                                         .min_absence = 1min,
                                         .heartbeat_silence = 40s,
                                         .not_ready = 40s,
                                         .min_age = 2min,
                                         .zone_freeze_percent = 55,
                                         .latch_percent = 25}};
  EXPECT_THAT(mistakes_of(floors), IsEmpty());
  EXPECT_TRUE(is_within_limits(lifecycle_options(floors).policy));
}

TEST(lifecycle_flags, below_their_floors_are_refused_by_name_and_together) {
  const LifecycleFlags wrong{.policy = {.confirmation_spacing = 9s,
                                        .min_absence = 59s,
                                        .heartbeat_silence = 39s,
                                        .not_ready = 39s,
                                        .min_age = 119s}};
  EXPECT_THAT(
      mistakes_of(wrong),
      ElementsAre("--node-deletion-confirmation-spacing: must be at least 10s: less would "
                  "delete live Nodes",
                  HasSubstr("--node-deletion-min-absence"),
                  HasSubstr("--node-deletion-heartbeat-silence"),
                  HasSubstr("--node-deletion-not-ready"), HasSubstr("--node-deletion-min-age")));
  EXPECT_THAT(mistakes_of({"--node-deletion-confirmations=1", "--node-deletion-rate=0",
                           "--node-deletion-burst=0", "--node-deletion-zone-freeze-percent=56",
                           "--node-deletion-latch-percent=26", "--node-monitor-period=0s",
                           "--concurrent-node-lifecycle-syncs=0"}),
              SizeIs(7));
}

}  // namespace
}  // namespace isthmus::app
