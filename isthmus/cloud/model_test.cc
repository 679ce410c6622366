#include "isthmus/cloud/model.h"

#include <gtest/gtest.h>

namespace isthmus::cloud {
namespace {

TEST(provider_id, keeps_every_slash_of_the_id) {
  const Result<ProviderId> id = parse_provider_id("aws:///eu-1a/i-0abc");
  ASSERT_TRUE(id);
  EXPECT_EQ(id->scheme, "aws");
  EXPECT_EQ(id->id, "/eu-1a/i-0abc");
  EXPECT_EQ(to_string(*id), "aws:///eu-1a/i-0abc");
}

TEST(provider_id, that_is_only_half_of_one_is_invalid) {
  for (const std::string_view text : {"", "isthmus", "isthmus:/x", "isthmus://", "://x"}) {
    EXPECT_EQ(parse_provider_id(text).outcome(), Outcome::invalid) << text;
  }
}

TEST(address_type, reads_back_what_it_writes) {
  for (const AddressType type :
       {AddressType::hostname, AddressType::internal_ip, AddressType::external_ip,
        AddressType::internal_dns, AddressType::external_dns}) {
    EXPECT_EQ(parse_address_type(to_string(type)), type);
  }
  EXPECT_EQ(parse_address_type("internalip"), std::nullopt);
}

TEST(instance, is_described_by_name_and_id) {
  Instance instance{.provider_id = {"isthmus", "7c9e"}};
  EXPECT_EQ(instance.describe(), "isthmus://7c9e");
  instance.names = {"node1", "node1.rack7"};
  EXPECT_EQ(instance.describe(), "node1 (isthmus://7c9e)");
}

}  // namespace
}  // namespace isthmus::cloud
