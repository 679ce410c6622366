#include "isthmus/infra/api/pool.h"

#include <gtest/gtest.h>

#include "isthmus/infra/api/object_testing.h"

namespace isthmus::infra::api {
namespace {

TEST(pool, is_read_as_it_was_written) {
  Result<Pool> read = decode_pool(encode(a_pool()));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, a_pool());

  Pool smallest{.name = "p", .ranges = {prefix("192.0.2.1/32")}};
  read = decode_pool(encode(smallest));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, smallest);

  PoolList list{.items = {a_pool(), smallest}, .revision = 9};
  Result<PoolList> read_list = decode_pool_list(encode(list));
  ASSERT_TRUE(read_list) << read_list.error().message;
  EXPECT_EQ(*read_list, list);
}

TEST(allocated_address, is_read_as_it_was_written) {
  Result<AllocatedAddress> read = decode_allocated_address(encode(an_address()));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, an_address());

  AllocatedAddress smallest{.address = ip("2001:db8::1"), .pool = "p"};
  read = decode_allocated_address(encode(smallest));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, smallest);

  AddressList list{.items = {an_address(), smallest}, .revision = 9, .continue_token = "next"};
  Result<AddressList> read_list = decode_address_list(encode(list));
  ASSERT_TRUE(read_list) << read_list.error().message;
  EXPECT_EQ(*read_list, list);
}

TEST(allocated_address, in_a_state_nobody_knows_is_not_free) {
  std::string text = encode(an_address());
  text.replace(text.find("cooling"), 7, "resting");
  Result<AllocatedAddress> read = decode_allocated_address(text);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->state, AllocatedAddress::State::held);
}

TEST(pool, that_is_none_is_lost) {
  for (std::string_view text : {"", "[]", R"({"kind":"Pool"})",
                                R"({"kind":"Pool","metadata":{"name":"p","revision":1},)"
                                R"("spec":{"ranges":["192.0.2.1/24"]},"status":{}})"}) {
    EXPECT_EQ(decode_pool(text).outcome(), Outcome::lost) << text;
  }
}

}  // namespace
}  // namespace isthmus::infra::api
