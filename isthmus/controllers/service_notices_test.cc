#include "isthmus/controllers/service_notices.h"

#include <gtest/gtest.h>

namespace isthmus::controllers {
namespace {

TEST(service_notices, an_outage_is_one_story_and_every_refusal_its_own) {
  const Notice lost = sync_failed({Outcome::lost, "connection reset"});
  const Notice late = sync_failed({Outcome::deadline, "no answer"});
  EXPECT_EQ(lost.sameness, late.sameness);
  EXPECT_EQ(lost.message, "Error syncing load balancer: connection reset");
  const Notice one = delete_failed({Outcome::conflict, "192.0.2.1 is held by other/a"});
  const Notice other = delete_failed({Outcome::conflict, "192.0.2.1 is held by other/b"});
  EXPECT_NE(one.sameness, other.sameness);
}

TEST(service_notices, facts_go_by_the_words_of_the_cloud) {
  const std::vector<Notice> notices =
      facts_of({.facts = {{"NoLocalTarget", "no pod here"}, {"", "something"}}});
  ASSERT_EQ(notices.size(), 2u);
  EXPECT_EQ(notices[0].reason, "NoLocalTarget");
  EXPECT_TRUE(notices[0].warning);
  EXPECT_EQ(notices[1].reason, "LoadBalancerNotice");
}

TEST(service_notices, the_first_problem_speaks_for_the_others) {
  const Error error = error_of({{"listener tcp/80", {Outcome::conflict, "taken"}},
                                {"listener tcp/81", {Outcome::lost, "cut"}}});
  EXPECT_EQ(error.outcome, Outcome::conflict);
  EXPECT_EQ(error.message, "listener tcp/80: taken (and 1 more)");
}

TEST(service_notices, addresses_are_listed) {
  EXPECT_EQ(text_of({parse_ip("192.0.2.1").value(), parse_ip("2001:db8::1").value()}),
            "192.0.2.1, 2001:db8::1");
}

}  // namespace
}  // namespace isthmus::controllers
