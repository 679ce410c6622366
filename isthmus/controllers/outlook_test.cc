#include "isthmus/controllers/outlook.h"

#include <gtest/gtest.h>

namespace isthmus::controllers {
namespace {

TEST(outlook, is_told_to_programs_in_a_document_that_always_has_the_same_members) {
  EXPECT_EQ(encode({}), R"({"kind":"Plan","items":[],"summary":{}})");
  const std::vector<Outlook> two{
      {"Node", {"", "n1"}, Act::initialize, "Uninitialized", "initialize as x://1", {"no taint t"}},
      {"Service", {"shop", "web"}, Act::none}};
  EXPECT_EQ(encode(two),
            R"({"kind":"Plan","items":[)"
            R"({"object":{"kind":"Node","namespace":"","name":"n1"},"action":"initialize",)"
            R"("reason":"Uninitialized","message":"initialize as x://1","details":["no taint t"]},)"
            R"({"object":{"kind":"Service","namespace":"shop","name":"web"},"action":"none",)"
            R"("reason":"","message":"","details":[]}],"summary":{"initialize":1,"none":1}})");
}

TEST(outlook, names_objects_as_people_write_them) {
  EXPECT_EQ(name_of({.kind = "Node", .key = {"", "n1"}}), "node/n1");
  EXPECT_EQ(name_of({.kind = "TargetSet", .key = {"", "nodes-1"}}), "targetset/nodes-1");
  EXPECT_EQ(name_of({.kind = "Service", .key = {"shop", "web"}}), "service/shop/web");
}

TEST(outlook, only_what_would_be_written_is_to_do) {
  const auto to_do = [](Act act) { return is_to_do({.act = act}); };
  for (const Act act : {Act::initialize, Act::refresh, Act::taint, Act::create, Act::update,
                        Act::publish, Act::release, Act::remove}) {
    EXPECT_TRUE(to_do(act)) << to_string(act);
  }
  for (const Act act : {Act::none, Act::wait, Act::withhold, Act::refuse, Act::unknown}) {
    EXPECT_FALSE(to_do(act)) << to_string(act);
  }
  EXPECT_EQ(to_string(Act::remove), "delete");
}

TEST(outlook, takes_a_description_apart) {
  EXPECT_EQ(parts_of("initialize as x; label a=b; no taint t"),
            (std::vector<std::string>{"initialize as x", "label a=b", "no taint t"}));
  EXPECT_EQ(parts_of("leave alone: why"), std::vector<std::string>{"leave alone: why"});
  EXPECT_EQ(parts_of(""), std::vector<std::string>{""});
}

}  // namespace
}  // namespace isthmus::controllers
