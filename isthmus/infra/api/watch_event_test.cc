#include "isthmus/infra/api/watch_event.h"

#include <gtest/gtest.h>

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
  WatchEvent changed{WatchEvent::Type::changed, 4, a_machine(), std::nullopt};
  WatchEvent removed{WatchEvent::Type::removed, 5, a_machine(), std::nullopt};
  removed.instance->state = State::retired;
  removed.instance->presence = Presence::absent;
  WatchEvent bookmark{WatchEvent::Type::bookmark, 6, std::nullopt, std::nullopt};
  WatchEvent gone{WatchEvent::Type::problem, 6, std::nullopt,
                  make_problem(problem::revision_gone, "list anew")};
  for (const WatchEvent& event : {changed, removed, bookmark, gone}) {
    std::string line = encode(event);
    EXPECT_EQ(line.find('\n'), std::string::npos);
    EXPECT_EQ(decode_watch_event(line).value(), event) << line;
  }
}

TEST(watch_event, of_an_unknown_type_or_kind_is_passed_over) {
  for (std::string_view line :
       {R"({"type":"paused","revision":3,"until":"noon"})",
        R"({"type":"changed","revision":3,"object":{"kind":"LoadBalancer","spec":{}}})"}) {
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
        R"({"type":"problem","revision":3,"problem":{"status":410}})"}) {
    EXPECT_EQ(decode_watch_event(line).outcome(), Outcome::lost) << line;
  }
}

}  // namespace
}  // namespace isthmus::infra::api
