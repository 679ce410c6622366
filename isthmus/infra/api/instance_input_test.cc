#include "isthmus/infra/api/instance_input.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace isthmus::infra::api {
namespace {

std::vector<std::string> pointers(const InstanceInput& input) {
  std::vector<std::string> pointers;
  for (const FieldError& error : input.errors) pointers.push_back(error.pointer);
  return pointers;
}

TEST(instance_input, takes_the_whole_description) {
  InstanceInput input = decode_instance_input(R"({
    "kind": "Instance",
    "metadata": {"uid": "m1", "name": "node1", "labels": {"rack": "7", "isthmus.dev/u": ""}},
    "spec": {"addresses": [{"type": "InternalIP", "address": "2001:DB8:0::1"},
                           {"type": "Hostname", "address": "Node1"}],
             "type": "r640", "region": "home", "zone": "rack-7",
             "systemUUID": "4C4C4544-0042-4A10-8056-B4C04F4D5A32", "state": "retired"},
    "status": {"power": "running"}})",
                                              "m1");
  ASSERT_EQ(input.errors, std::vector<FieldError>{});
  EXPECT_EQ(input.instance.uid, "m1");
  EXPECT_EQ(input.instance.addresses,
            (std::vector<Address>{{AddressType::internal_ip, "2001:db8::1"},
                                  {AddressType::hostname, "Node1"}}));
  EXPECT_EQ(input.instance.labels.size(), 2u);
  EXPECT_EQ(input.instance.system_uuid, "4c4c4544-0042-4a10-8056-b4c04f4d5a32");
  EXPECT_EQ(input.instance.state, State::retired);
  EXPECT_EQ(input.instance.power, Power::running);
}

TEST(instance_input, takes_a_system_uuid_without_dashes) {
  const InstanceInput input = decode_instance_input(
      R"({"metadata":{"name":"n"},"spec":{"systemUUID":"3D1219c7c4c54d2ea1b0c3d4e5f60718"}})",
      "m1");
  EXPECT_EQ(input.errors, std::vector<FieldError>{});
  EXPECT_EQ(input.instance.system_uuid, "3d1219c7-c4c5-4d2e-a1b0-c3d4e5f60718");
}

TEST(instance_input, may_say_little) {
  InstanceInput input = decode_instance_input(R"({"metadata":{"name":"node1"}})", "m1");
  EXPECT_EQ(input.errors, std::vector<FieldError>{});
  EXPECT_EQ(input.instance.power, Power::unknown);
  EXPECT_EQ(input.instance.state, State::active);
}

TEST(instance_input, may_be_what_a_get_answered) {
  Instance answered{.uid = "m1",
                    .name = "node1",
                    .addresses = {},
                    .type = "r640",
                    .region = "",
                    .zone = "",
                    .labels = {},
                    .system_uuid = "",
                    .state = State::active,
                    .power = Power::stopped,
                    .presence = Presence::unknown,
                    .last_confirmed_at = WallTime(std::chrono::seconds(1)),
                    .revision = 7,
                    .generation = 3};
  InstanceInput input = decode_instance_input(encode(answered), "m1");
  EXPECT_EQ(input.errors, std::vector<FieldError>{});
  EXPECT_EQ(input.instance.power, Power::stopped);
  EXPECT_EQ(input.instance.revision, 0u);
  EXPECT_EQ(input.instance.presence, Presence::present);
}

TEST(instance_input, lists_everything_that_is_wrong_at_once) {
  InstanceInput input = decode_instance_input(R"({
    "kind": "Machine", "extra": 1,
    "metadata": {"uid": "m2", "name": "Node 1", "labels": {"a b": "c", "rack": "7 8"}, "nam": ""},
    "spec": {"addresses": [{"type": "IP", "address": "10.0.0.1"},
                           {"type": "InternalIP", "address": "10.0.0.999"},
                           {"type": "InternalIP", "address": "10.0.0.2", "port": 5},
                           {"type": "InternalIP", "address": "10.0.0.2"}],
             "zone": 7, "systemUUID": "x", "state": "gone"},
    "status": {"power": "on", "mood": "good"}})",
                                              "m1");
  std::vector<std::string> wrong = pointers(input);
  for (std::string_view pointer :
       {"/kind", "/extra", "/metadata/uid", "/metadata/name", "/metadata/labels/a b",
        "/metadata/labels/rack", "/metadata/nam", "/spec/addresses/0/type",
        "/spec/addresses/1/address", "/spec/addresses/2/port", "/spec/addresses/3", "/spec/zone",
        "/spec/systemUUID", "/spec/state", "/status/power", "/status/mood"}) {
    EXPECT_EQ(std::ranges::count(wrong, pointer), 1) << pointer;
  }
  EXPECT_EQ(wrong.size(), 16u);
}

TEST(instance_input, that_says_one_thing_twice_is_wrong) {
  InstanceInput input = decode_instance_input(
      R"({"metadata":{"name":"a","name":"b"},"spec":{"zone":"z"},"spec":{"zone":"z"}})", "m1");
  EXPECT_EQ(input.errors, (std::vector<FieldError>{{"/metadata/name", "is given twice"},
                                                   {"/spec", "is given twice"}}));
}

TEST(instance_input, that_is_no_document_is_unreadable) {
  for (std::string_view text : {"", "{", "<html>", "{\"metadata\":{\"name\":\"a\"}} trailing"}) {
    EXPECT_TRUE(decode_instance_input(text, "m1").unreadable) << text;
  }
  EXPECT_FALSE(decode_instance_input("[]", "m1").errors.empty());
  EXPECT_EQ(pointers(decode_instance_input("{}", "m1")), (std::vector<std::string>{"/metadata"}));
}

}  // namespace
}  // namespace isthmus::infra::api
