#include "isthmus/infra/record_json.h"

#include <gtest/gtest.h>

namespace isthmus::infra {
namespace {

using namespace std::chrono_literals;

TEST(record_json, a_time_is_read_back_to_the_nanosecond) {
  for (Duration fraction : {Duration(0), Duration(1), Duration(500ms), Duration(999'999'999)}) {
    const WallTime time = WallTime(1'767'225'600s) + fraction;
    Mistakes mistakes;
    json::value document = json::object{{"at", record_json::exact(time)}};
    JsonReader reader(document, mistakes);
    EXPECT_EQ(record_json::read_time(reader, "at"), time);
    EXPECT_TRUE(mistakes.empty());
  }
  EXPECT_EQ(record_json::exact(WallTime(1'767'225'600s)), "2026-01-01T00:00:00Z");
}

TEST(record_json, metadata_are_read_back) {
  api::Metadata metadata;
  metadata.owner = "prod";
  metadata.name = "web";
  metadata.uid = "7c9e";
  metadata.labels = {{"app.example/tier", "front"}, {"empty", ""}};
  metadata.deletion_protection = true;
  metadata.generation = 12;
  metadata.deletion_requested_at = WallTime(1'767'225'600s);
  Mistakes mistakes;
  json::value document = record_json::to_json(metadata);
  EXPECT_EQ(record_json::read_metadata(JsonReader(document, mistakes)), metadata);
  EXPECT_TRUE(mistakes.empty());
}

TEST(record_json, what_a_clock_far_ahead_wrote_can_be_read_when_it_is_right_again) {
  const WallTime far{std::chrono::sys_days{std::chrono::year{2261} / 1 / 1}.time_since_epoch()};
  Mistakes mistakes;
  json::value document = json::object{{"at", record_json::exact(far)}};
  JsonReader reader(document, mistakes);
  EXPECT_LT(record_json::read_time(reader, "at"), far);
  EXPECT_TRUE(mistakes.empty()) << mistakes.text();
}

TEST(record_json, what_it_does_not_understand_is_a_mistake) {
  Mistakes mistakes;
  json::value document = json::object{{"owner", "prod"},  {"name", "web"}, {"uid", "7c9e"},
                                      {"generation", -1}, {"more", 1},     {"address", "x"}};
  JsonReader reader(document, mistakes);
  record_json::read_ip(reader.required("address"));
  record_json::read_metadata(reader);
  EXPECT_EQ(mistakes.count(), 3u) << mistakes.text();
}

}  // namespace
}  // namespace isthmus::infra
