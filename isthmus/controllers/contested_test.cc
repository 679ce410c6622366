#include "isthmus/controllers/contested.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "isthmus/base/virtual_world.h"
#include "isthmus/kube/api/node.h"
#include "isthmus/kube/testing/fake_api.h"

namespace isthmus::controllers {
namespace {

using namespace std::chrono_literals;
using kube::testing::FakeApi;
using kube::testing::Verb;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

const Wish kZone{{"metadata", "labels", "topology.kubernetes.io/zone"}, "rack-7"};
const Wish kAddresses{{"status", "addresses"}, "InternalIP 10.0.0.1"};

class ContestedTest : public ::testing::Test {
 protected:
  ContestedTest() {
    meta.key = {"", "n1"};
    meta.uid = "u1";
  }

  // Somebody else's write of a field is found, and put right if it may be.
  bool put_right(const Wish& wish = kZone) {
    const bool may = !fields.may_write(meta, {wish}).empty();
    if (may) fields.wrote(meta, {wish});
    return may;
  }
  int put_right_times(int times, Duration apart) {
    int done = 0;
    for (int i = 0; i < times; ++i) {
      pass(apart);
      if (put_right()) ++done;
    }
    return done;
  }
  void pass(Duration time) { world.advance(time); }
  std::string told() const {
    std::string all;
    for (const Notice& notice : fields.notices(meta)) all += notice.message + "\n";
    return all;
  }

  VirtualWorld world;
  FakeApi api{world.loop};
  Metrics metrics;
  ContestedFields fields{world.loop, metrics, {.controller = "test"}};
  kube::ObjectMeta meta;
};

TEST_F(ContestedTest, what_was_never_written_may_be_written_again_and_again) {
  for (int i = 0; i < 10; ++i) EXPECT_THAT(fields.may_write(meta, {kZone}), ElementsAre(kZone));
}

TEST_F(ContestedTest, parks_at_the_third_time_within_ten_minutes) {
  EXPECT_TRUE(put_right());
  EXPECT_EQ(put_right_times(2, 1min), 2) << "twice it is put right";
  EXPECT_EQ(put_right_times(5, 1min), 0);
  EXPECT_THAT(fields.notices(meta), SizeIs(1));
  EXPECT_THAT(metrics.text(), HasSubstr(R"(isthmus_fields_parked_total{controller="test"} 1)"));
}

TEST_F(ContestedTest, reverts_far_apart_are_put_right_for_ever) {
  EXPECT_TRUE(put_right());
  EXPECT_EQ(put_right_times(30, 6min), 30);
}

TEST_F(ContestedTest, one_that_is_looked_at_twice_before_it_is_written_counts_once) {
  EXPECT_TRUE(put_right());
  for (int i = 0; i < 10; ++i) EXPECT_THAT(fields.may_write(meta, {kZone}), SizeIs(1));
}

TEST_F(ContestedTest, the_other_fields_of_the_object_go_on) {
  put_right();
  put_right_times(3, 1s);
  EXPECT_THAT(fields.may_write(meta, {kZone, kAddresses}), ElementsAre(kAddresses));
}

TEST_F(ContestedTest, a_wish_that_changes_begins_anew) {
  put_right();
  put_right_times(3, 1s);
  EXPECT_TRUE(put_right({kZone.field, "rack-8"}));
  EXPECT_THAT(fields.notices(meta), IsEmpty());
}

TEST_F(ContestedTest, our_own_change_of_mind_is_no_fight) {
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(put_right({kZone.field, i % 2 == 0 ? "a" : "b"}));
  }
}

TEST_F(ContestedTest, gets_one_more_try_after_an_hour_and_is_parked_again_by_one_revert) {
  put_right();
  put_right_times(3, 1s);
  const std::optional<Moment> next = fields.next_try(meta);
  ASSERT_TRUE(next);
  pass(*next - world.loop.now());
  EXPECT_TRUE(put_right());
  EXPECT_THAT(fields.notices(meta), IsEmpty());
  EXPECT_FALSE(put_right());
  EXPECT_THAT(fields.notices(meta), SizeIs(1));
}

TEST_F(ContestedTest, one_that_is_right_again_is_forgotten) {
  put_right();
  put_right_times(3, 1s);
  EXPECT_THAT(fields.may_write(meta, {kAddresses}), ElementsAre(kAddresses));
  EXPECT_THAT(fields.notices(meta), IsEmpty());
  EXPECT_EQ(fields.next_try(meta), std::nullopt);
}

TEST_F(ContestedTest, a_namesake_is_another_object) {
  put_right();
  put_right_times(3, 1s);
  meta.uid = "u2";
  EXPECT_THAT(fields.notices(meta), IsEmpty());
  EXPECT_TRUE(put_right());
  EXPECT_TRUE(put_right());
}

TEST_F(ContestedTest, names_the_other_writer_and_asks_for_it_once) {
  api.put(kube::Node::resource, R"({"metadata": {"name": "n1", "managedFields": [
    {"manager": "isthmus", "operation": "Update", "time": "2026-11-30T07:30:00Z",
     "fieldsV1": {"f:metadata": {"f:labels": {"f:topology.kubernetes.io/zone": {}}}}},
    {"manager": "kubectl-label", "operation": "Update", "time": "2026-11-30T07:20:00Z",
     "fieldsV1": {"f:metadata": {"f:labels": {"f:topology.kubernetes.io/zone": {}}}}}]}})");
  const kube::ObjectName name{kube::Node::resource, meta.key};
  put_right();
  EXPECT_TRUE(world.run(fields.learn_writers(api, name)));
  EXPECT_EQ(api.calls(Verb::get), 0U) << "nothing is parked";
  put_right_times(3, 1s);
  EXPECT_TRUE(world.run(fields.learn_writers(api, name)));
  EXPECT_TRUE(world.run(fields.learn_writers(api, name)));
  EXPECT_EQ(api.calls(Verb::get), 1U);
  EXPECT_THAT(told(), HasSubstr(R"(last by "kubectl-label" (Update at 2026-11-30T07:20:00Z))"));
  EXPECT_THAT(told(), HasSubstr("metadata.labels[topology.kubernetes.io/zone]"));
  EXPECT_THAT(told(), HasSubstr("rack-7"));
}

TEST_F(ContestedTest, says_that_the_other_is_unknown_where_nobody_can_be_named) {
  api.inject({.verb = Verb::get, .error = {Outcome::busy, "429"}});
  put_right();
  put_right_times(3, 1s);
  EXPECT_TRUE(world.run(fields.learn_writers(api, {kube::Node::resource, meta.key})));
  EXPECT_THAT(told(), HasSubstr("does not name"));
}

TEST_F(ContestedTest, a_writer_of_our_own_name_is_another_manager) {
  const std::string text = describe_writer({{"isthmus", "Update", "", "2026-11-30T07:20:00Z"}});
  EXPECT_THAT(text, HasSubstr("another manager works on this cluster under another Lease"));
  EXPECT_THAT(describe_writer({{"kubelet", "Update", "status", "t"}}), Not(HasSubstr("our own")));
}

TEST_F(ContestedTest, remembers_nothing_of_what_nobody_has_disputed_for_hours) {
  put_right();
  put_right_times(2, 1s);
  pass(3h);
  fields.wrote(meta, {kAddresses});
  EXPECT_EQ(put_right_times(3, 1s), 3) << "it begins anew";
  EXPECT_EQ(put_right_times(1, 1s), 0);
}

}  // namespace
}  // namespace isthmus::controllers
