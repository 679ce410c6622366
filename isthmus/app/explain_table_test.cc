#include "isthmus/app/explain_table.h"

#include <gtest/gtest.h>

namespace isthmus::app {
namespace {

using controllers::Explanation;
using State = controllers::Link::State;

TEST(explain_table, shows_the_chain_with_the_next_step_below_its_break) {
  const Explanation explanation{
      .kind = "Service",
      .key = {"shop", "web"},
      .links = {{"object", State::ok, "type LoadBalancer"},
                {"manager", State::unknown, "denied: no right", "ask for it"},
                {"load-balancer", State::broken, "the cloud has none", "look at the log"}},
      .events = {{.type = "Warning",
                  .reason = "SyncLoadBalancerFailed",
                  .message = "PoolExhausted",
                  .last_time = "2026-01-01T00:00:00Z",
                  .count = 3}}};
  EXPECT_EQ(explain_table(explanation),
            "Service shop/web\n"
            "\n"
            "LINK           STATE    SEEN\n"
            "object         ok       type LoadBalancer\n"
            "manager        unknown  denied: no right\n"
            "  └ ask for it\n"
            "load-balancer  broken   the cloud has none\n"
            "  └ look at the log\n"
            "\n"
            "Broken at load-balancer.\n"
            "\n"
            "LAST SEEN             TYPE     REASON                  MESSAGE\n"
            "2026-01-01T00:00:00Z  Warning  SyncLoadBalancerFailed  PoolExhausted (3 times)\n");
}

TEST(explain_table, says_so_when_nothing_is_broken) {
  EXPECT_EQ(
      explain_table({.kind = "Node", .key = {"", "n1"}, .links = {{"object", State::ok, "x"}}}),
      "Node n1\n"
      "\n"
      "LINK    STATE  SEEN\n"
      "object  ok     x\n"
      "\n"
      "Nothing is broken.\n");
}

TEST(explain_table, does_not_call_whole_what_could_not_be_looked_at) {
  const std::string table = explain_table({.kind = "Node",
                                           .key = {"", "n1"},
                                           .links = {{"object", State::ok, "x"},
                                                     {"machine", State::unknown, "no cloud", "y"},
                                                     {"kubelet", State::unknown, "denied", "z"}}});
  EXPECT_TRUE(table.ends_with(
      "\nNothing that could be looked at is broken; what could not: machine, kubelet.\n"))
      << table;
}

}  // namespace
}  // namespace isthmus::app
