#include "isthmus/infra/api/target_set.h"

#include <gtest/gtest.h>

#include "isthmus/infra/api/object_testing.h"

namespace isthmus::infra::api {
namespace {

TEST(target_set, is_read_as_it_was_written) {
  Result<TargetSet> read = decode_target_set(encode(a_target_set()));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, a_target_set());

  TargetSetList list{.items = {a_target_set()}, .revision = 9, .continue_token = "next"};
  Result<TargetSetList> read_list = decode_target_set_list(encode(list));
  ASSERT_TRUE(read_list) << read_list.error().message;
  EXPECT_EQ(*read_list, list);
}

TEST(target_set, is_written_as_the_document_says) {
  EXPECT_EQ(encode_input(a_target_set()),
            R"({"kind":"TargetSet",)"
            R"("metadata":{"name":"workers","labels":{"app":"web"},"deletionProtection":true},)"
            R"("spec":{"targets":[)"
            R"({"name":"node1.example","addresses":["10.0.0.11","2001:db8::11"],)"
            R"("weight":1,"drain":false},)"
            R"({"name":"node2","addresses":["10.0.0.12"],"weight":500,"drain":true}]}})");
}

TEST(target_set, that_is_none_is_lost) {
  for (std::string_view text :
       {"", "[]", "{}", R"({"kind":"TargetSet"})",
        R"({"kind":"TargetSet","metadata":{"owner":"o","name":"n","uid":"u","generation":1,)"
        R"("revision":1},"spec":{"targets":[{"name":"a","addresses":["10.0.0.256"]}]},)"
        R"("status":{}})"}) {
    EXPECT_EQ(decode_target_set(text).outcome(), Outcome::lost) << text;
  }
}

}  // namespace
}  // namespace isthmus::infra::api
