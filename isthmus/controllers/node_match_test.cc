#include "isthmus/controllers/node_match.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace isthmus::controllers {
namespace {

const std::vector<MatchBy> kAll{MatchBy::system_uuid, MatchBy::name, MatchBy::internal_ip};

cloud::Instance machine(std::string id) {
  return {.provider_id = {"isthmus", std::move(id)}, .presence = cloud::Presence::present};
}

std::string found(const Match& match) {
  if (const auto* none = std::get_if<NoMatch>(&match)) return std::string(none->cause);
  return std::get<cloud::Instance>(match).provider_id.id;
}

struct node_match : testing::Test {
  node_match() {
    by_uuid.system_uuid = "AAAAAAAA-0000-0000-0000-000000000001";
    by_name.names = {"other", "Node1"};
    by_address.addresses = {{cloud::AddressType::internal_ip, "::ffff:10.0.0.1"}};
  }
  kube::Node node{.meta = {.key = {"", "node1"}},
                  .addresses = {{"InternalIP", "10.0.0.1"}},
                  .system_uuid = "aaaaaaaa-0000-0000-0000-000000000001"};
  cloud::Instance by_uuid = machine("by-uuid");
  cloud::Instance by_name = machine("by-name");
  cloud::Instance by_address = machine("by-address");
};

TEST_F(node_match, tries_uuid_name_and_address_in_this_order) {
  EXPECT_EQ(found(match_machine(node, {{by_address, by_name, by_uuid}}, kAll)), "by-uuid");
  EXPECT_EQ(found(match_machine(node, {{by_address, by_name}}, kAll)), "by-name");
  EXPECT_EQ(found(match_machine(node, {{by_address}}, kAll)), "by-address");
  EXPECT_EQ(found(match_machine(node, {{machine("stranger")}}, kAll)), "machine_not_found");
}

TEST_F(node_match, tries_only_what_it_is_told_in_the_order_it_is_told) {
  const Evidence all{{by_address, by_name, by_uuid}};
  EXPECT_EQ(found(match_machine(node, all, {MatchBy::internal_ip, MatchBy::name})), "by-address");
  EXPECT_EQ(found(match_machine(node, all, {MatchBy::name})), "by-name");
  EXPECT_EQ(found(match_machine(node, all, {})), "machine_not_found");
}

TEST_F(node_match, believes_a_provider_id_before_all_else) {
  node.provider_id = "isthmus://by-address";
  EXPECT_EQ(found(match_machine(node, {{by_address, by_name, by_uuid}}, kAll)), "by-address");
  node.provider_id = "isthmus://gone";
  EXPECT_EQ(found(match_machine(node, {{by_address, by_name, by_uuid}}, kAll)),
            "machine_not_found");
}

TEST_F(node_match, does_not_give_a_node_a_machine_with_another_board) {
  by_name.system_uuid = "bbbbbbbb-0000-0000-0000-000000000001";
  EXPECT_EQ(found(match_machine(node, {{by_name}}, kAll)), "machine_mismatch");
  EXPECT_EQ(found(match_machine(node, {{by_name}}, {MatchBy::name})), "by-name");
}

TEST_F(node_match, compares_the_digits_of_a_system_uuid_and_not_its_dashes) {
  node.system_uuid = "aaaaaaaa000000000000000000000001";
  EXPECT_EQ(found(match_machine(node, {{by_uuid}}, kAll)), "by-uuid");
  node.provider_id = "isthmus://by-uuid";
  EXPECT_EQ(found(match_machine(node, {{by_uuid}}, kAll)), "by-uuid");
  node.system_uuid.back() = '2';
  EXPECT_EQ(found(match_machine(node, {{by_uuid}}, kAll)), "machine_mismatch");
}

TEST_F(node_match, lets_a_retired_namesake_not_stand_in_the_way) {
  cloud::Instance retired = by_name;
  retired.provider_id.id = "retired";
  retired.presence = cloud::Presence::absent;
  EXPECT_EQ(found(match_machine(node, {{retired, by_name}}, kAll)), "by-name");
  EXPECT_EQ(found(match_machine(node, {{retired}}, kAll)), "machine_retired");
}

TEST_F(node_match, tells_a_machine_that_was_never_known_from_one_that_vanished) {
  node.provider_id = "isthmus://m1";
  cloud::Instance unknown = machine("m1");
  unknown.presence = cloud::Presence::unknown;
  EXPECT_EQ(std::get<NoMatch>(match_machine(node, {{unknown}}, kAll)).message,
            "the cloud does not know machine isthmus://m1");
  unknown.names = {"node1"};
  EXPECT_EQ(std::get<NoMatch>(match_machine(node, {{unknown}}, kAll)).message,
            "nobody vouches any more for machine node1 (isthmus://m1)");
}

TEST_F(node_match, does_not_compare_what_a_node_does_not_have) {
  node.system_uuid.clear();
  node.addresses.clear();
  EXPECT_EQ(found(match_machine(node, {{machine("blank"), by_name}}, kAll)), "by-name");
}

TEST_F(node_match, does_not_take_an_address_that_every_machine_has_for_one_of_its_own) {
  node.addresses = {{"InternalIP", "127.0.0.1"}, {"InternalIP", "::1"}};
  node.meta.annotations.set("alpha.kubernetes.io/provided-node-ip", "127.0.0.1");
  by_address.addresses = {{cloud::AddressType::internal_ip, "127.0.0.1"}};
  EXPECT_EQ(found(match_machine(node, {{by_address}}, kAll)), "machine_not_found");
  EXPECT_TRUE(query_for(node).internal_ips.empty());
}

TEST_F(node_match, names_no_more_than_a_handful_of_candidates) {
  std::vector<cloud::Instance> many;
  for (int i = 0; i < 8; ++i) many.push_back(by_name);
  const Match match = match_machine(node, {many}, kAll);
  EXPECT_THAT(std::get<NoMatch>(match).message, testing::EndsWith(" and 3 more"));
}

TEST(match_order, reads_the_words_of_the_flag) {
  EXPECT_EQ(*parse_match_order("providerID,systemUUID,name,InternalIP"), kAll);
  EXPECT_EQ(*parse_match_order("name"), std::vector{MatchBy::name});
  EXPECT_TRUE(parse_match_order("providerID")->empty());
  for (const std::string_view wrong :
       {"", "name,", "Name", "name,name", "name,providerID", "systemUUID, name"}) {
    EXPECT_EQ(parse_match_order(wrong).outcome(), Outcome::invalid) << wrong;
  }
}

}  // namespace
}  // namespace isthmus::controllers
