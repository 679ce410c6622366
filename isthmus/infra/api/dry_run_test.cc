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

}  // namespace
}  // namespace isthmus::infra::api
