#include "isthmus/infra/refusal_log.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include "isthmus/base/virtual_world.h"

namespace isthmus::infra {
namespace {

struct refusal_log : ::testing::Test {
  VirtualWorld world;
  MemoryLogger log;
  RefusalLog refusals{world.loop, log};
};

TEST_F(refusal_log, tells_of_a_host_once_in_a_while_and_how_often_it_tried_meanwhile) {
  refusals.tell("192.0.2.7:4711", "the token is not known");
  refusals.tell("192.0.2.7:4712", "the token is not known");
  refusals.tell("192.0.2.7:4713", "the token is not known");
  ASSERT_EQ(log.lines.size(), 1U);
  EXPECT_TRUE(log.mentions("remote=\"192.0.2.7\" reason=\"the token is not known\""));

  world.advance(kRefusalPeriod);
  refusals.tell("192.0.2.7:4714", "the token is not known");
  ASSERT_EQ(log.lines.size(), 2U);
  EXPECT_TRUE(log.mentions("not_told_before=2"));
}

TEST_F(refusal_log, tells_of_each_host_by_itself) {
  refusals.tell("192.0.2.7:1", "why");
  refusals.tell("[2001:db8::1]:1", "why");
  refusals.tell("unix", "why");
  EXPECT_EQ(log.lines.size(), 3U);
  EXPECT_TRUE(log.mentions("remote=\"[2001:db8::1]\""));
  EXPECT_TRUE(log.mentions("remote=\"unix\""));
}

TEST_F(refusal_log, tells_of_very_many_hosts_as_one_until_some_are_forgotten) {
  for (std::size_t i = 0; i < 2 * kRefusedHostsMax; ++i) {
    refusals.tell(fmt::format("h{}:1", i), "why");
  }
  EXPECT_EQ(log.lines.size(), kRefusedHostsMax + 1);
  EXPECT_TRUE(log.mentions("remote=\"others\""));
  world.advance(kRefusalPeriod);
  refusals.tell("new:1", "why");
  EXPECT_TRUE(log.mentions("remote=\"new\""));
}

}  // namespace
}  // namespace isthmus::infra
