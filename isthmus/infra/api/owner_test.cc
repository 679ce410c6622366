#include "isthmus/infra/api/owner.h"

#include <gtest/gtest.h>

namespace isthmus::infra::api {
namespace {

TEST(owner, a_list_is_read_as_it_was_written) {
  OwnerList list{.items = {{"prod", 3, 2, 1}, {"test", 0, 1, 0}}, .revision = 42};
  EXPECT_EQ(decode_owner_list(encode(list)).value(), list);
}

TEST(owner, what_is_no_list_of_owners_is_lost) {
  for (std::string_view text : {"", "{}", R"({"kind":"OwnerList","items":[]})"}) {
    EXPECT_EQ(decode_owner_list(text).outcome(), Outcome::lost) << text;
  }
}

}  // namespace
}  // namespace isthmus::infra::api
