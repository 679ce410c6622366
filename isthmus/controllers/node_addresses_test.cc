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

}  // namespace
}  // namespace isthmus::controllers
