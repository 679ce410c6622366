#include "isthmus/infra/api/server_info.h"

#include <gtest/gtest.h>

namespace isthmus::infra::api {
namespace {

ServerInfo an_info() {
  return {.protocol_version = std::string(kProtocolVersion),
          .provider_name = "isthmus",
          .provider_id_scheme = "isthmus",
          .capabilities = {std::string(capability::instances)},
          .server_version = "0.1.0",
          .owner = "prod"};
}

TEST(server_info, is_read_as_it_was_written) {
  EXPECT_EQ(decode_server_info(encode(an_info())).value(), an_info());
}

TEST(server_info, says_nothing_of_an_owner_where_there_is_none) {
  ServerInfo info = an_info();
  info.owner.clear();
  EXPECT_EQ(encode(info).find("owner"), std::string::npos);
  EXPECT_EQ(decode_server_info(encode(info)).value(), info);
}

TEST(server_info, knows_what_it_has) {
  EXPECT_TRUE(an_info().has(capability::instances));
  EXPECT_FALSE(an_info().has(capability::instance_watch));
}

TEST(server_info, passes_over_what_a_newer_server_says) {
  ServerInfo info = decode_server_info(R"({"kind":"ServerInfo","protocolVersion":"v1","new":{},
      "providerName":"p","providerIDScheme":"s","capabilities":["teleport"]})")
                        .value();
  EXPECT_EQ(info.provider_name, "p");
  EXPECT_TRUE(info.has("teleport"));
  EXPECT_EQ(info.owner, "");
}

TEST(server_info, without_what_is_required_is_lost) {
  for (std::string_view text :
       {"<html>", "[]", R"({"providerName":"p","providerIDScheme":"s","capabilities":[]})",
        R"({"protocolVersion":"v1","providerName":"p","providerIDScheme":"s"})",
        R"({"protocolVersion":1,"providerName":"p","providerIDScheme":"s","capabilities":[]})",
        R"({"protocolVersion":"v1","providerName":"p","providerIDScheme":"s","capabilities":[],
            "owner":"a/b"})"}) {
    EXPECT_EQ(decode_server_info(text).outcome(), Outcome::lost) << text;
  }
}

}  // namespace
}  // namespace isthmus::infra::api
