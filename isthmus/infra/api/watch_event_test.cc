#include "isthmus/infra/api/watch_event.h"

#include <gtest/gtest.h>

#include <vector>

#include "isthmus/infra/api/object_testing.h"

namespace isthmus::infra::api {
namespace {

Instance a_machine() {
  Instance machine;
  machine.uid = "m1";
  machine.name = "node1";
  machine.revision = 4;
  return machine;
}

TEST(watch_event, of_every_type_is_read_as_it_was_written) {
  WatchEvent changed{.type = WatchEvent::Type::changed, .revision = 4, .instance = a_machine()};
  WatchEvent removed{.type = WatchEvent::Type::removed, .revision = 5, .instance = a_machine()};
  removed.instance->state = State::retired;
  removed.instance->presence = Presence::absent;
  WatchEvent bookmark{.type = WatchEvent::Type::bookmark, .revision = 6};
  WatchEvent gone{.type = WatchEvent::Type::problem,
                  .revision = 6,
                  .problem = make_problem(problem::revision_gone, "list anew")};
  for (const WatchEvent& event : {changed, removed, bookmark, gone}) {
    std::string line = encode(event);
    EXPECT_EQ(line.find('\n'), std::string::npos);
    EXPECT_EQ(decode_watch_event(line).value(), event) << line;
  }
}

TEST(watch_event, carries_every_kind_of_object) {
  std::vector<WatchEvent> events(5);
  events[0].load_balancer = a_load_balancer();
  events[1].target_set = a_target_set();
  events[2].pool = a_pool();
  events[3].address = an_address();
  events[4].route_table = a_route_table();
  for (WatchEvent& event : events) {
    event.type = WatchEvent::Type::removed;
    event.revision = 7;
    EXPECT_EQ(decode_watch_event(encode(event)).value(), event) << encode(event);
  }
}

TEST(watch_event, of_an_unknown_type_or_kind_is_passed_over) {
  for (std::string_view line :
       {R"({"type":"paused","revision":3,"until":"noon"})",
        R"({"type":"changed","revision":3,"object":{"kind":"Router","spec":{}}})"}) {
    WatchEvent event = decode_watch_event(line).value();
    EXPECT_EQ(event.type, WatchEvent::Type::other) << line;
    EXPECT_EQ(event.revision, 3u);
  }
}

TEST(watch_event, without_what_its_type_requires_is_lost) {
  for (std::string_view line :
       {"", "{}", R"({"type":"changed","revision":3})", R"({"type":"bookmark"})",
        R"({"type":"problem","revision":3})", R"({"type":"bookmark","revision":-1})",
        R"({"type":"changed","revision":3,"object":{"kind":"Instance","metadata":{}}})",
        R"({"type":"changed","revision":3,"object":{"kind":"LoadBalancer","spec":{}}})",
        R"({"type":"problem","revision":3,"problem":{"status":410}})"}) {
    EXPECT_EQ(decode_watch_event(line).outcome(), Outcome::lost) << line;
  }
}

}  // namespace
}  // namespace isthmus::infra::api
