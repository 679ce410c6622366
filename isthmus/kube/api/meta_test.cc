#include "isthmus/kube/api/meta.h"

#include <gtest/gtest.h>

#include "isthmus/kube/api/node.h"

namespace isthmus::kube {
namespace {

using std::chrono::nanoseconds;
using std::chrono::seconds;

TEST(object_key, is_written_and_read_in_one_form) {
  EXPECT_EQ(to_string(ObjectKey{"kube-system", "cm"}), "kube-system/cm");
  EXPECT_EQ(to_string(ObjectKey{"", "node1"}), "node1");

  Result<ObjectKey> key = parse_object_key("kube-system/cm");
  ASSERT_TRUE(key.has_value());
  EXPECT_EQ(*key, (ObjectKey{"kube-system", "cm"}));
  key = parse_object_key("node1");
  ASSERT_TRUE(key.has_value());
  EXPECT_EQ(*key, (ObjectKey{"", "node1"}));
}

TEST(object_key, refuses_what_names_no_object) {
  for (const char* text : {"", "/", "a/", "/b", "a/b/c", "a//b"}) {
    Result<ObjectKey> key = parse_object_key(text);
    EXPECT_EQ(key.outcome(), Outcome::invalid) << text;
  }
}

TEST(reference, names_the_type_and_the_uid) {
  const Node node{.meta = {.key = {"", "n1"}, .uid = "u1", .resource_version = "7"}};

  EXPECT_EQ(reference_to(node), (ObjectReference{"v1", "Node", {"", "n1"}, "u1", "7"}));
}

TEST(rfc3339_reader, reads_what_the_api_writes) {
  struct {
    const char* text;
    Duration since_1970;
  } const table[] = {
      {"1970-01-01T00:00:00Z", {}},
      {"2026-11-29T20:47:43Z", seconds(1'795'985'263)},
      {"2026-11-29T20:47:43.123456Z", seconds(1'795'985'263) + nanoseconds(123'456'000)},
      {"2026-11-29T20:47:43.1Z", seconds(1'795'985'263) + nanoseconds(100'000'000)},
      {"2026-11-29T22:47:43+02:00", seconds(1'795'985'263)},
      {"2026-11-29t15:17:43-05:30", seconds(1'795'985'263)},
      {"2024-02-29T00:00:00Z", seconds(1'709'164'800)},
      {"2016-12-31T23:59:60Z", seconds(1'483'228'800)},
  };
  for (const auto& row : table) {
    EXPECT_EQ(parse_rfc3339(row.text), WallTime(row.since_1970)) << row.text;
  }
}

TEST(rfc3339_reader, reads_back_what_base_writes) {
  const WallTime time(seconds(1'795'985'263) + nanoseconds(123'456'000));

  EXPECT_EQ(parse_rfc3339(rfc3339_micro(time)), time);
  EXPECT_EQ(parse_rfc3339(rfc3339(time)), WallTime(seconds(1'795'985'263)));
}

TEST(rfc3339_reader, refuses_what_is_no_time) {
  for (const char* text :
       {"", "now", "2026-11-29", "2026-11-29T20:47:43", "2026-11-29 20:47:43Z",
        "2026-13-01T00:00:00Z", "2026-02-29T00:00:00Z", "2026-11-29T24:00:00Z",
        "2026-11-29T20:60:00Z", "2026-11-29T20:47:43.Z", "2026-11-29T20:47:43.1234567890Z",
        "2026-11-29T20:47:43Zjunk", "2026-11-29T20:47:43+2:00", "2026-11-29T20:47:43+24:00",
        "1969-12-31T23:59:59Z", "9999-12-31T23:59:59Z", "-026-11-29T20:47:43Z",
        "2026-11-29T20:47:+3Z"}) {
    EXPECT_EQ(parse_rfc3339(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace isthmus::kube
