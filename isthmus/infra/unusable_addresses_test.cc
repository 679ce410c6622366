#include "isthmus/infra/unusable_addresses.h"

#include <gtest/gtest.h>

namespace isthmus::infra {
namespace {

using Texts = std::map<std::string, std::string>;

Texts unusable(const std::vector<drivers::InterfaceAddress>& present) {
  Texts texts;
  for (const auto& [address, why] : unusable_on(present)) texts[to_string(address)] = why;
  return texts;
}

drivers::InterfaceAddress on_eth0(std::string_view text, std::uint8_t bits, bool ours = false) {
  return {parse_ip(text).value(), bits, "eth0", ours};
}

TEST(unusable_addresses, are_the_hosts_own_and_the_ends_of_its_networks) {
  EXPECT_EQ(unusable({on_eth0("192.0.2.7", 24), on_eth0("2001:db8::7", 64)}),
            (Texts{{"192.0.2.0", "it is the network address of 192.0.2.0/24"},
                   {"192.0.2.255", "it is the broadcast address of 192.0.2.0/24"},
                   {"192.0.2.7", "this host has it itself, on eth0"},
                   {"2001:db8::", "every router of 2001:db8::/64 answers for it"},
                   {"2001:db8::7", "this host has it itself, on eth0"}}));
}

TEST(unusable_addresses, are_not_those_of_load_balancers) {
  EXPECT_EQ(unusable({on_eth0("192.0.2.9", 32, true)}), Texts{});
}

TEST(unusable_addresses, are_only_its_own_where_a_network_has_no_ends) {
  EXPECT_EQ(unusable({on_eth0("192.0.2.7", 31), on_eth0("192.0.2.9", 32),
                      on_eth0("2001:db8::7", 127), on_eth0("2001:db8::9", 128)})
                .size(),
            4u);
}

}  // namespace
}  // namespace isthmus::infra
