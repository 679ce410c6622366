#include "isthmus/infra/exchange.h"

#include <gtest/gtest.h>

#include "isthmus/infra/store/store.h"

namespace isthmus::infra {
namespace {

Exchange an_exchange() {
  return {.id = "abc-1",
          .request = {},
          .target = {"/v1/instances/m1", {}},
          .route = find_route("GET", "/v1/instances/m1").value(),
          .caller = {}};
}

TEST(exchange, a_refusal_names_the_path_and_the_request) {
  net::Response response =
      refused(an_exchange(), api::make_problem(api::problem::instance_not_found, "m1"));
  EXPECT_EQ(response.status, 404);
  EXPECT_EQ(api::decode_problem(response.body, 404)->instance, "/v1/instances/m1#abc-1");
}

TEST(exchange, a_store_that_fails_is_logged_and_its_words_stay_here) {
  MemoryLogger log;
  net::Response response = failed(an_exchange(), {Outcome::lost, "disk on fire"}, log);
  EXPECT_EQ(response.status, 503);
  EXPECT_EQ(response.body.find("fire"), std::string::npos);
  EXPECT_TRUE(log.mentions("disk on fire"));
  EXPECT_TRUE(log.mentions("requestID=\"abc-1\""));
}

TEST(exchange, what_the_client_asked_too_late_for_is_no_failure_of_the_store) {
  MemoryLogger log;
  EXPECT_EQ(failed(an_exchange(), {kRevisionGone, "compacted"}, log).status, 410);
  EXPECT_EQ(failed(an_exchange(), {Outcome::busy, "not yet"}, log).status, 503);
  EXPECT_EQ(failed(an_exchange(), {Outcome::cancelled, "stopping"}, log).status, 503);
  EXPECT_TRUE(log.lines.empty());
}

}  // namespace
}  // namespace isthmus::infra
