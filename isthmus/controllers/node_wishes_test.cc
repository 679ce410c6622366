#include "isthmus/controllers/node_wishes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace isthmus::controllers {
namespace {

using testing::IsEmpty;
using testing::UnorderedElementsAre;

Refresh refresh() {
  Refresh act;
  act.addresses = std::vector{kube::NodeAddress{"InternalIP", "10.0.0.1"}};
  act.change.labels = {{"zone", "a"}, {"rack", "7"}};
  act.change.removed_labels = {"old"};
  act.change.annotations = {{"labels", "rack"}};
  act.change.removed_annotations = {"stale"};
  return act;
}

const Wish kAddresses{{"status", "addresses"}, "InternalIP 10.0.0.1"};
const Wish kZone{{"metadata", "labels", "zone"}, "a"};
const Wish kRack{{"metadata", "labels", "rack"}, "7"};
const Wish kOld{{"metadata", "labels", "old"}, ""};
const Wish kLabels{{"metadata", "annotations", "labels"}, "rack"};
const Wish kStale{{"metadata", "annotations", "stale"}, ""};

TEST(node_wishes, a_refresh_wishes_each_of_its_fields) {
  EXPECT_THAT(wishes_of(NodePlan{refresh()}),
              UnorderedElementsAre(kAddresses, kZone, kRack, kOld, kLabels, kStale));
}

TEST(node_wishes, what_is_no_refresh_is_not_disputed) {
  EXPECT_THAT(wishes_of(NodePlan{Leave{"right"}}), IsEmpty());
  EXPECT_THAT(wishes_of(NodePlan{Initialize{.change = refresh().change}}), IsEmpty());
}

TEST(node_wishes, each_taint_is_a_field_of_its_own) {
  kube::NodeChange change;
  change.added_taints = {{.key = "shutdown", .effect = "NoSchedule"}};
  change.removed_taints = {"other"};
  const Wish shutdown{{"spec", "taints", "shutdown"}, "NoSchedule"};
  const Wish other{{"spec", "taints", "other"}, ""};
  EXPECT_THAT(wishes_of(change), UnorderedElementsAre(shutdown, other));
  EXPECT_THAT(wishes_of(limited_to({other}, change)), UnorderedElementsAre(other));
  EXPECT_TRUE(limited_to({}, change).empty());
}

TEST(node_wishes, a_refresh_keeps_what_is_allowed_and_nothing_else) {
  const Refresh act = limited_to({kZone, kOld}, refresh());
  EXPECT_THAT(wishes_of(NodePlan{act}), UnorderedElementsAre(kZone, kOld));
  EXPECT_THAT(wishes_of(NodePlan{limited_to({}, refresh())}), IsEmpty());
  EXPECT_TRUE(limited_to({}, refresh()).change.empty());
}

}  // namespace
}  // namespace isthmus::controllers
