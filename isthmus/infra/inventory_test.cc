#include "isthmus/infra/inventory.h"

#include <gtest/gtest.h>

namespace isthmus::infra {
namespace {

using Lines = std::vector<std::string>;

Lines mistakes_of(std::string_view text) {
  YamlMistakes mistakes;
  parse_inventory(text, mistakes);
  return mistakes.sorted().list();
}

// The mistakes of one machine, written in line 2.
Lines mistakes_of_machine(const std::string& machine) {
  return mistakes_of("instances:\n- {" + machine + "}\n");
}

TEST(inventory, a_line_says_everything_about_a_machine) {
  YamlMistakes mistakes;
  auto lines = parse_inventory(R"(
instances:
- {uid: 7c9e66, name: node1, addresses: [{type: InternalIP, address: "2001:DB8::11"}], type: r640,
   region: home, zone: rack-7, labels: {rack: "7", server: u12}, power: running, state: active,
   systemUUID: 4C4C4544-0042-4a10-8056-b4c04f4d5a32}
- uid: b
  name: node2
  state: retired
)",
                               mistakes);
  ASSERT_EQ(mistakes.sorted().list(), Lines{});
  ASSERT_EQ(lines.size(), 2u);
  const api::Instance& first = lines[0].instance;
  EXPECT_EQ(lines[0].line, 3);
  EXPECT_EQ(first.uid, "7c9e66");
  EXPECT_EQ(first.name, "node1");
  EXPECT_EQ(first.addresses,
            (std::vector<api::Address>{{api::AddressType::internal_ip, "2001:db8::11"}}));
  EXPECT_EQ(first.labels, (std::map<std::string, std::string>{{"rack", "7"}, {"server", "u12"}}));
  EXPECT_EQ(first.type + first.region + first.zone, "r640homerack-7");
  EXPECT_EQ(first.system_uuid, "4c4c4544-0042-4a10-8056-b4c04f4d5a32");
  EXPECT_EQ(first.power, api::Power::running);
  EXPECT_EQ(lines[1].line, 6);
  EXPECT_EQ(lines[1].instance.state, api::State::retired);
  EXPECT_EQ(lines[1].instance.power, api::Power::unknown);
}

TEST(inventory, a_system_uuid_is_taken_as_a_kubelet_reports_it_where_the_firmware_has_none) {
  YamlMistakes mistakes;
  const auto lines = parse_inventory(
      "instances:\n- {uid: a, name: n, systemUUID: 3d1219c7c4c54d2ea1b0c3d4e5f60718}\n", mistakes);
  ASSERT_EQ(mistakes.sorted().list(), Lines{});
  EXPECT_EQ(lines.at(0).instance.system_uuid, "3d1219c7-c4c5-4d2e-a1b0-c3d4e5f60718");
}

TEST(inventory, a_uid_is_required_and_never_made_up) {
  Lines mistakes = mistakes_of_machine("name: node1");
  ASSERT_EQ(mistakes.size(), 1u);
  EXPECT_TRUE(mistakes[0].starts_with("line 2: instances[0].uid is required: it is permanent"));
}

TEST(inventory, each_wrong_part_is_named) {
  std::string good = "uid: a, name: n, ";
  for (std::string part :
       {"colour: blue", "addresses: 10.0.0.1", "addresses: [{type: IP, address: 10.0.0.1}]",
        "addresses: [{type: InternalIP}]", "addresses: [{type: InternalIP, address: 10.0.0.300}]",
        "addresses: [{type: Hostname, address: \"a b\"}]",
        "addresses: [{type: InternalIP, address: 10.0.0.1, port: x}]",
        "addresses: [{type: InternalIP, address: 10.0.0.1}, {type: InternalIP, address: 10.0.0.1}]",
        "type: a b", "zone: 7", "region: [x]", "labels: {rack: 7}", "labels: {\"a b\": x}",
        "labels: {a: \"b c\"}", "labels: x", "power: \"on\"", "state: gone", "systemUUID: 4c4c",
        "name: n"}) {
    Lines mistakes = mistakes_of_machine(good + part);
    EXPECT_EQ(mistakes.size(), 1u) << part;
    if (!mistakes.empty()) EXPECT_TRUE(mistakes[0].starts_with("line 2: ")) << mistakes[0];
  }
}

TEST(inventory, all_mistakes_are_reported_together) {
  EXPECT_EQ(mistakes_of("instances:\n"
                        "- {name: no-uid}\n"
                        "- {uid: a, name: Bad_Name}\n"
                        "- {uid: c, name: node3, colour: blue}\n"
                        "- {uid: c, name: node3}\n"
                        "machines: []\n")
                .size(),
            6u);
}

TEST(inventory, a_doubled_key_hides_no_other_mistake) {
  EXPECT_EQ(mistakes_of("instances:\n- {uid: a, name: n1, name: n2}\n- {uid: a, nam: n3}\n"),
            (Lines{"line 2: \"name\" is given twice in one place, first in line 2",
                   "line 3: instances[1].name is required",
                   "line 3: instances[1]: unknown key \"nam\"; did you mean name?",
                   "line 3: uid a is already that of the machine in line 2"}));
}

TEST(inventory, two_machines_cannot_share_what_identifies_them) {
  std::string uuid = "systemUUID: 4c4c4544-0042-4a10-8056-b4c04f4d5a32";
  std::string plain = "systemUUID: 4C4C454400424A108056B4C04F4D5A32";
  std::string address = "addresses: [{type: InternalIP, address: 10.0.0.1}]";
  EXPECT_EQ(mistakes_of("instances:\n- {uid: a, name: n, " + uuid + ", " + address +
                        "}\n- {uid: a, name: n, " + plain + ", " + address + "}\n"),
            (Lines{"line 3: uid a is already that of the machine in line 2",
                   "line 3: name n is already that of the machine in line 2",
                   "line 3: systemUUID 4c4c4544-0042-4a10-8056-b4c04f4d5a32 is already that of the "
                   "machine in line 2",
                   "line 3: InternalIP 10.0.0.1 is already that of the machine in line 2"}));
}

TEST(inventory, what_a_retired_machine_had_is_free_but_for_its_uid) {
  EXPECT_EQ(mistakes_of("instances:\n- {uid: a, name: n, state: retired}\n- {uid: b, name: n}\n"),
            Lines{});
  EXPECT_EQ(
      mistakes_of("instances:\n- {uid: a, name: n, state: retired}\n- {uid: a, name: m}\n").size(),
      1u);
}

TEST(inventory, an_empty_file_is_a_mistake_and_an_empty_list_is_not) {
  EXPECT_EQ(mistakes_of("").size(), 1u);
  EXPECT_EQ(mistakes_of("# all gone\n").size(), 1u);
  EXPECT_EQ(mistakes_of("instances:\n").size(), 1u);
  EXPECT_EQ(mistakes_of("- {uid: a, name: n}\n").size(), 1u);
  EXPECT_EQ(mistakes_of("instances: []\n"), Lines{});
}

}  // namespace
}  // namespace isthmus::infra
