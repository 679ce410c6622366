#include "isthmus/infra/balancer_requests.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace isthmus::infra {
namespace {

namespace problem = api::problem;

net::Request with_body(std::string body) {
  net::Request request;
  request.body = std::move(body);
  return request;
}

std::string balancer_body(std::string_view listener) {
  return fmt::format(R"({{"spec":{{"listeners":[{}],"targetGroups":[{{"name":"g","targets":)"
                     R"([{{"address":"10.0.0.1","port":1}}]}}]}}}})",
                     listener);
}

std::string answer(std::string body) {
  auto read = read_load_balancer_body(with_body(std::move(body)), {"prod", "web"}, "nft");
  return read ? "" : std::string(read.error().suffix());
}

TEST(balancer_body, is_read_or_refused_for_one_clear_reason) {
  EXPECT_EQ(answer(balancer_body(R"({"port":80,"targetGroup":"g"})")), "");
  EXPECT_EQ(answer("{"), problem::invalid_request);
  EXPECT_EQ(answer("{}"), problem::invalid_spec);
  EXPECT_EQ(answer(std::string(api::kBalancerBodyMax + 1, ' ')), problem::body_too_large);
}

TEST(balancer_body, every_wrong_field_is_named_at_once) {
  auto read = read_load_balancer_body(
      with_body(balancer_body(R"({"port":0,"targetGroup":"x","colour":"red"})")), {"prod", "web"},
      "nft");
  ASSERT_FALSE(read);
  EXPECT_GE(read.error().errors.size(), 3u);
}

TEST(balancer_body, what_the_driver_does_not_offer_is_named_with_the_driver) {
  auto read = read_load_balancer_body(
      with_body(balancer_body(R"({"port":80,"protocol":"SCTP","targetGroup":"g"})")),
      {"prod", "web"}, "nft");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().suffix(), problem::not_offered);
  EXPECT_EQ(read.error().status, 422);
  EXPECT_EQ(read.error().errors,
            (std::vector<api::FieldError>{
                {"/spec/listeners/0/protocol", "SCTP: not offered by driver nft"}}));
}

TEST(target_set_body, is_read_or_refused) {
  ObjectName name{"prod", "nodes"};
  auto good = read_target_set_body(
      with_body(R"({"spec":{"targets":[{"name":"n1","addresses":["10.0.0.1"]}]}})"), name);
  ASSERT_TRUE(good);
  EXPECT_EQ(good->metadata.name, "nodes");
  EXPECT_EQ(read_target_set_body(with_body("{}"), name).error().suffix(), problem::invalid_spec);
}

}  // namespace
}  // namespace isthmus::infra
