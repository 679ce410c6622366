#include "isthmus/base/json_keys.h"

#include <gtest/gtest.h>

namespace isthmus {
namespace {

using Pointers = std::vector<std::string>;

TEST(json_keys, that_an_object_has_before_are_named_by_pointer) {
  EXPECT_EQ(doubled_keys(R"({"a":1,"b":{"c":[0,{"d":1,"d":2}],"c":3},"a":null,"a":[]})"),
            (Pointers{"/b/c/1/d", "/b/c", "/a", "/a"}));
}

TEST(json_keys, of_different_objects_are_not_doubled) {
  EXPECT_EQ(doubled_keys(R"({"a":{"a":1},"b":[{"a":1},{"a":"a"}],"A":true})"), Pointers{});
  EXPECT_EQ(doubled_keys("[1,2]"), Pointers{});
}

TEST(json_keys, are_the_same_however_they_are_escaped) {
  EXPECT_EQ(doubled_keys(R"({"a/b":1,"\u0061\/b":2})"), Pointers{"/a~1b"});
}

TEST(json_keys, of_a_broken_text_are_those_before_the_break) {
  EXPECT_EQ(doubled_keys(R"({"a":1,"a":2,"b":)"), Pointers{"/a"});
  EXPECT_EQ(doubled_keys("<html>"), Pointers{});
  EXPECT_EQ(doubled_keys(std::string(100'000, '[')), Pointers{});
}

TEST(json_keys, are_parts_of_a_pointer) { EXPECT_EQ(pointer_part("a/b~c"), "a~1b~0c"); }

}  // namespace
}  // namespace isthmus
