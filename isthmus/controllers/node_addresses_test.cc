#include "isthmus/controllers/node_addresses.h"

#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace isthmus::controllers {
namespace {

using cloud::AddressType;

// "InternalIP 10.0.0.1, …", or the outcome.
std::string wanted(std::vector<cloud::Address> machine, std::optional<std::string> annotation,
                   NodeIpFilter filter = NodeIpFilter::whole_type) {
  kube::Node node{.addresses = {{"InternalIP", "10.9.9.9"}, {"Hostname", "node1"}}};
  if (annotation) node.meta.annotations.set(kProvidedNodeIpAnnotation, *annotation);
  const auto addresses = wanted_addresses(
      node, {.provider_id = {"isthmus", "m1"}, .addresses = std::move(machine)}, filter);
  if (!addresses) return std::string(to_string(addresses.outcome()));
  std::string text;
  for (const auto& [type, address] : *addresses) {
    text += (text.empty() ? "" : ", ") + type + " " + address;
  }
  return text;
}

const std::vector<cloud::Address> kDual{{AddressType::external_ip, "192.0.2.1"},
                                        {AddressType::internal_ip, "10.0.0.1"},
                                        {AddressType::internal_ip, "10.0.0.2"},
                                        {AddressType::internal_ip, "FD00::0001"},
                                        {AddressType::hostname, "m1"}};

TEST(node_addresses, are_those_of_the_machine_in_its_order) {
  EXPECT_EQ(
      wanted(kDual, std::nullopt),
      "ExternalIP 192.0.2.1, InternalIP 10.0.0.1, InternalIP 10.0.0.2, InternalIP FD00::0001, "
      "Hostname m1");
}

TEST(node_addresses, keep_the_hostname_where_the_cloud_names_none) {
  EXPECT_EQ(wanted({{AddressType::internal_ip, "10.0.0.1"}}, std::nullopt),
            "InternalIP 10.0.0.1, Hostname node1");
}

TEST(node_addresses, stay_as_they_are_where_the_cloud_knows_none) {
  EXPECT_EQ(wanted({}, std::nullopt), "");
}

TEST(node_addresses, put_the_provided_address_first_and_drop_others_of_its_type) {
  EXPECT_EQ(wanted(kDual, "10.0.0.2"), "InternalIP 10.0.0.2, ExternalIP 192.0.2.1, Hostname m1");
}

TEST(node_addresses, keep_the_other_family_when_told_to) {
  EXPECT_EQ(wanted(kDual, "10.0.0.2", NodeIpFilter::per_family),
            "InternalIP 10.0.0.2, ExternalIP 192.0.2.1, InternalIP FD00::0001, Hostname m1");
}

TEST(node_addresses, follow_the_order_of_two_provided_addresses) {
  EXPECT_EQ(wanted(kDual, "fd00::1,10.0.0.1"),
            "InternalIP FD00::0001, InternalIP 10.0.0.1, ExternalIP 192.0.2.1, Hostname m1");
}

TEST(node_addresses, are_not_made_up_when_the_provided_one_is_not_the_machines) {
  EXPECT_EQ(wanted(kDual, "10.0.0.9"), "absent");
  EXPECT_EQ(wanted(kDual, "10.0.0.1,fd00::9"), "absent");
  EXPECT_EQ(wanted({}, "10.0.0.1"), "absent");
}

TEST(node_addresses, need_an_annotation_that_can_be_read) {
  for (const std::string annotation : {"", "node1", "10.0.0.1, fd00::1", "10.0.0.1,10.0.0.2",
                                       "10.0.0.1,::", "10.0.0.1,fd00::1,10.0.0.2", "10.0.0.1,"}) {
    EXPECT_EQ(wanted(kDual, annotation), "invalid") << annotation;
  }
}

cloud::Instance machine_with(std::vector<std::string> internal_ips) {
  cloud::Instance machine{.provider_id = {"isthmus", "m1"}};
  for (std::string& address : internal_ips) {
    machine.addresses.push_back({AddressType::internal_ip, std::move(address)});
  }
  return machine;
}

TEST(node_addresses, leave_out_what_no_machine_can_have_as_its_own) {
  for (const std::string address :
       {"127.0.0.1", "::1", "0.0.0.0", "::", "224.0.0.1", "ff02::1", "255.255.255.255",
        "::ffff:127.0.0.1", "10.0.0.300", "10.0.0.1/24", "fe80::1%eth0", "node1"}) {
    EXPECT_EQ(wanted({{AddressType::external_ip, address},
                      {AddressType::internal_ip, "10.0.0.1"},
                      {AddressType::internal_ip, address}},
                     std::nullopt),
              "InternalIP 10.0.0.1, Hostname node1")
        << address;
  }
  EXPECT_EQ(wanted({{AddressType::internal_ip, "127.0.0.1"}}, "127.0.0.1"), "absent")
      << "whatever its kubelet was told";
}

TEST(node_addresses, are_taken_as_they_are_where_a_machine_can_have_them) {
  for (const std::string address : {"169.254.7.7", "fe80::1", "100.64.0.1", "2001:db8::1"}) {
    EXPECT_EQ(wanted({{AddressType::internal_ip, address}}, std::nullopt),
              "InternalIP " + address + ", Hostname node1");
  }
  EXPECT_EQ(wanted({{AddressType::hostname, "127.0.0.1"}}, std::nullopt), "Hostname 127.0.0.1");
}

TEST(node_addresses, of_a_type_that_the_cloud_gets_wrong_stay_the_nodes_own) {
  const cloud::Address wrong{AddressType::internal_ip, "127.0.0.1"};
  EXPECT_EQ(wanted({wrong}, std::nullopt), "");
  EXPECT_EQ(wanted({wrong, {AddressType::external_ip, "192.0.2.1"}}, std::nullopt),
            "ExternalIP 192.0.2.1, Hostname node1, InternalIP 10.9.9.9");
  EXPECT_EQ(wanted({wrong, {AddressType::hostname, "m1"}}, "10.9.9.9"), "absent")
      << "what only the kubelet says is no address of the machine";
}

TEST(node_addresses, of_the_nodes_own_that_are_nobodys_go_and_oddly_spelt_ones_stay) {
  cloud::Instance machine = machine_with({"127.0.0.1", "10.0.0.01"});
  machine.addresses.push_back({AddressType::hostname, "m1"});
  const kube::Node node{.addresses = {{"InternalIP", "127.0.0.1"}, {"InternalIP", "10.0.0.01"}}};
  EXPECT_THAT(*wanted_addresses(node, machine, NodeIpFilter::whole_type),
              ::testing::ElementsAre(kube::NodeAddress{"Hostname", "m1"},
                                     kube::NodeAddress{"InternalIP", "10.0.0.01"}));
}

TEST(node_addresses, that_are_left_out_are_named_with_the_reason) {
  EXPECT_EQ(addresses_left_out(machine_with({"10.0.0.1"})), "");
  EXPECT_EQ(addresses_left_out(machine_with({"10.0.0.1", "127.0.0.1", "ff02::1", "x\n"})),
            "InternalIP \"127.0.0.1\": a loopback address; InternalIP \"ff02::1\": a multicast "
            "address; InternalIP \"x\\n\": no IP address");
}

TEST(node_addresses, that_are_left_out_never_make_a_long_message) {
  const std::string text =
      addresses_left_out(machine_with(std::vector<std::string>(1000, std::string(10'000, 'x'))));
  EXPECT_THAT(text, ::testing::EndsWith("; 995 more"));
  EXPECT_LT(text.size(), 1000U);
}

}  // namespace
}  // namespace isthmus::controllers
