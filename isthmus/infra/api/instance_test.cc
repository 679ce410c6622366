#include "isthmus/infra/api/instance.h"

#include <gtest/gtest.h>

#include <chrono>

#include "isthmus/infra/api/instance_json.h"

namespace isthmus::infra::api {
namespace {

Instance a_machine() {
  return {.uid = "m1",
          .name = "node1",
          .addresses = {{AddressType::internal_ip, "10.0.0.11"},
                        {AddressType::external_dns, "node1.example.org"}},
          .type = "r640",
          .region = "home",
          .zone = "rack-7",
          .labels = {{"rack", "7"}, {"server", ""}},
          .system_uuid = "4c4c4544-0042-4a10-8056-b4c04f4d5a32",
          .state = State::active,
          .power = Power::stopped,
          .presence = Presence::unknown,
          .last_confirmed_at = WallTime(std::chrono::seconds(1'767'225'600)),
          .revision = 7,
          .generation = 2};
}

TEST(instance, is_read_as_it_was_written) {
  EXPECT_EQ(decode_instance(encode(a_machine())).value(), a_machine());
}

TEST(instance, that_says_little_is_read_as_it_was_written) {
  Instance little;
  little.uid = "m2";
  little.name = "node2";
  EXPECT_EQ(decode_instance(encode(little)).value(), little);
}

TEST(instance, list_is_read_as_it_was_written) {
  InstanceList list{.items = {a_machine(), a_machine()}, .revision = 9, .continue_token = "t"};
  EXPECT_EQ(decode_instance_list(encode(list)).value(), list);
  EXPECT_EQ(decode_instance_list(encode(InstanceList{})).value(), InstanceList{});
}

// Puts words of a newer server into what we write.
std::string with(std::string text, std::string_view part, std::string_view instead) {
  std::size_t at = text.find(part);
  EXPECT_NE(at, std::string::npos) << part;
  return text.replace(at, part.size(), instead);
}

TEST(instance, of_a_newer_server_is_read_without_what_we_do_not_know) {
  std::string text = encode(a_machine());
  text = with(text, "\"kind\"", "\"new\":{\"a\":[1]},\"kind\"");
  text = with(text, "InternalIP", "SerialConsole");
  Instance read = decode_instance(text).value();
  ASSERT_EQ(read.addresses.size(), 1u);
  EXPECT_EQ(read.addresses[0].type, AddressType::external_dns);
}

TEST(instance, words_we_do_not_know_never_end_a_machine) {
  std::string text = encode(a_machine());
  text = with(text, "\"stopped\"", "\"hibernating\"");
  text = with(text, "\"presence\":\"unknown\"", "\"presence\":\"vanished\"");
  text = with(text, "\"active\"", "\"maintenance\"");
  Instance read = decode_instance(text).value();
  EXPECT_EQ(read.power, Power::unknown);
  EXPECT_EQ(read.presence, Presence::unknown);
  EXPECT_EQ(read.state, State::active);
}

TEST(instance, without_what_is_required_is_lost) {
  std::string good = encode(a_machine());
  for (std::string_view part :
       {"\"uid\":\"m1\",", "\"name\":\"node1\",", "\"revision\":7,", "\"kind\":\"Instance\","}) {
    EXPECT_EQ(decode_instance(with(good, part, "")).outcome(), Outcome::lost) << part;
  }
  EXPECT_EQ(decode_instance(with(good, "\"m1\"", "\"\"")).outcome(), Outcome::lost);
  EXPECT_EQ(decode_instance(with(good, "presence", "present")).outcome(), Outcome::lost);
  EXPECT_EQ(decode_instance(good.substr(0, good.size() / 2)).outcome(), Outcome::lost);
  EXPECT_EQ(decode_instance("<html></html>").outcome(), Outcome::lost);
}

TEST(instance, with_a_uid_or_name_that_breaks_its_rule_is_lost) {
  for (std::string uid : {std::string("../../x"), std::string("a/b"), std::string(5000, 'u')}) {
    Instance bad = a_machine();
    bad.uid = uid;
    EXPECT_EQ(decode_instance(encode(bad)).outcome(), Outcome::lost) << uid;
  }
  Instance bad = a_machine();
  bad.name = "Node_1";
  EXPECT_EQ(decode_instance(encode(bad)).outcome(), Outcome::lost);
}

TEST(instance, whose_state_and_presence_contradict_each_other_is_lost) {
  for (auto [state, presence] :
       {std::pair(State::retired, Presence::present), std::pair(State::active, Presence::absent)}) {
    Instance torn = a_machine();
    torn.state = state;
    torn.presence = presence;
    EXPECT_EQ(decode_instance(encode(torn)).outcome(), Outcome::lost);
  }
}

TEST(instance, list_leaves_out_and_counts_an_item_it_does_not_understand) {
  InstanceList list{.items = {a_machine(), a_machine()}, .revision = 9, .continue_token = ""};
  for (std::string_view bad : {"5", "\"../../x\""}) {
    Result<InstanceList> read = decode_instance_list(with(encode(list), "\"m1\"", bad));
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->items, std::vector<Instance>{a_machine()});
    EXPECT_EQ(read->not_understood, 1u);
  }
}

TEST(instance, list_without_what_is_required_is_lost) {
  EXPECT_EQ(decode_instance_list(R"({"kind":"InstanceList","metadata":{"revision":1}})").outcome(),
            Outcome::lost);
  EXPECT_EQ(
      decode_instance_list(R"({"kind":"Instance","metadata":{"revision":1},"items":[]})").outcome(),
      Outcome::lost);
}

TEST(instance, words_are_those_of_the_document) {
  EXPECT_EQ(address_type_of("InternalIP"), AddressType::internal_ip);
  EXPECT_EQ(power_of("running"), Power::running);
  EXPECT_EQ(state_of("retired"), State::retired);
  EXPECT_FALSE(address_type_of("internalip"));
  EXPECT_FALSE(power_of("on"));
  EXPECT_FALSE(state_of(""));
}

}  // namespace
}  // namespace isthmus::infra::api
