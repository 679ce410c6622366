#include "isthmus/infra/api/dry_run.h"

#include <gtest/gtest.h>

namespace isthmus::infra::api {
namespace {

TEST(dry_run, is_one_document) {
  DryRun plan{.effect = DryRun::Effect::changed,
              .object = R"({"kind":"LoadBalancer"})",
              .addresses = {parse_ip("192.0.2.1").value(), parse_ip("2001:db8::1").value()},
              .changes = {{"/spec/listeners/0/port", "80", "81"}, {"/spec/a", "", "[1]"}}};
  EXPECT_EQ(encode(plan), R"({"kind":"Plan","effect":"changed","object":{"kind":"LoadBalancer"},)"
                          R"("addresses":["192.0.2.1","2001:db8::1"],)"
                          R"("changes":[{"pointer":"/spec/listeners/0/port","from":80,"to":81},)"
                          R"({"pointer":"/spec/a","to":[1]}]})");
}

TEST(dry_run, without_an_effect_has_no_changes) {
  EXPECT_EQ(
      encode(DryRun{
          .effect = DryRun::Effect::unchanged, .object = "{}", .addresses = {}, .changes = {}}),
      R"({"kind":"Plan","effect":"unchanged","object":{},"addresses":[],"changes":[]})");
}

TEST(dry_run, is_read_as_it_was_written) {
  for (DryRun::Effect effect : {DryRun::Effect::created, DryRun::Effect::changed,
                                DryRun::Effect::unchanged, DryRun::Effect::deleted}) {
    const DryRun plan{.effect = effect,
                      .object = R"({"kind":"LoadBalancer"})",
                      .addresses = {parse_ip("192.0.2.1").value()},
                      .changes = {{"/spec/a", "null", "[1]"}, {"/spec/b", "", "\"x\""}}};
    EXPECT_EQ(decode_dry_run(encode(plan)), plan);
  }
}

TEST(dry_run, passes_over_what_a_newer_server_says) {
  const auto plan =
      decode_dry_run(R"({"kind":"Plan","effect":"created","object":{"a":1},"price":7,)"
                     R"("changes":[{"pointer":"","to":{},"why":"so"}]})");
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->object, R"({"a":1})");
  EXPECT_EQ(plan->changes, (std::vector<PlannedChange>{{"", "", "{}"}}));
}

TEST(dry_run, that_is_not_understood_is_lost) {
  for (std::string_view text :
       {"", "<html>", "[]", R"({"kind":"LoadBalancer","effect":"created","object":{}})",
        R"({"kind":"Plan","object":{}})", R"({"kind":"Plan","effect":"created"})",
        R"({"kind":"Plan","effect":"exploded","object":{}})",
        R"({"kind":"Plan","effect":"created","object":{},"addresses":["x"]})",
        R"({"kind":"Plan","effect":"created","object":{},"changes":[{"from":1}]})"}) {
    EXPECT_EQ(decode_dry_run(text).outcome(), Outcome::lost) << text;
  }
}

}  // namespace
}  // namespace isthmus::infra::api
