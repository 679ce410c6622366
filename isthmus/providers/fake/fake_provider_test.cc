#include "isthmus/providers/fake/fake_provider.h"

#include <gtest/gtest.h>

#include "isthmus/base/virtual_world.h"

namespace isthmus::providers::fake {
namespace {

struct fake_provider : testing::Test {
  fake_provider() {
    cloud.add("1", "node1");
    cloud.add("2", "node2");
  }
  cloud::Instances& instances() { return *cloud.capabilities().instances; }
  Outcome get(const std::string& id) { return world.run(instances().get({"fake", id})).outcome(); }
  VirtualWorld world;
  FakeProvider cloud;
};

TEST_F(fake_provider, answers_about_its_machines) {
  EXPECT_EQ(get("1"), Outcome::ok);
  cloud.remove("1");
  EXPECT_EQ(get("1"), Outcome::absent);
  EXPECT_EQ(world.run(instances().list({.name = "node2"}))->items.size(), 1U);
}

TEST_F(fake_provider, fails_as_often_as_it_is_told) {
  cloud.faults.error = Error{Outcome::lost, "cut"};
  cloud.faults.errors = 2;
  EXPECT_EQ(get("1"), Outcome::lost);
  EXPECT_EQ(get("1"), Outcome::lost);
  EXPECT_EQ(get("1"), Outcome::ok);
}

TEST_F(fake_provider, limits_calls_and_hides_machines_when_told) {
  cloud.faults.list_only = 1;
  EXPECT_EQ(world.run(instances().list({}))->completeness, cloud::Completeness::partial);
  cloud.faults.partial_list_claims_to_be_complete = true;
  EXPECT_EQ(world.run(instances().list({}))->completeness, cloud::Completeness::complete);
  cloud.faults.calls_until_limit = 1;
  EXPECT_EQ(get("1"), Outcome::ok);
  EXPECT_EQ(get("1"), Outcome::busy);
}

TEST_F(fake_provider, takes_its_time_when_told) {
  cloud.faults.delay = std::chrono::seconds(3);
  EXPECT_EQ(get("1"), Outcome::ok);
  EXPECT_EQ(world.elapsed(), std::chrono::seconds(3));
}

}  // namespace
}  // namespace isthmus::providers::fake
