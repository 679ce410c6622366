#include "isthmus/infra/drivers/forwarding.h"

#include <gtest/gtest.h>

#include <array>

namespace isthmus::infra::drivers {
namespace {

using Missing = std::vector<std::string>;

constexpr std::array kBoth{IpFamily::v4, IpFamily::v6};
constexpr const char* kPath4 = "/proc/sys/net/ipv4/ip_forward";
constexpr const char* kPath6 = "/proc/sys/net/ipv6/conf/all/forwarding";

MemoryFiles a_host(const char* v4, const char* v6) {
  MemoryFiles files;
  EXPECT_TRUE(files.write(kPath4, v4, FileMode::world_readable));
  EXPECT_TRUE(files.write(kPath6, v6, FileMode::world_readable));
  return files;
}

TEST(forwarding, a_host_that_forwards_lacks_nothing) {
  MemoryFiles host = a_host("1\n", "1\n");
  EXPECT_EQ(missing_settings(host, kBoth), Missing{});
}

TEST(forwarding, what_is_lacking_is_what_to_run) {
  MemoryFiles host = a_host("0\n", "0\n");
  EXPECT_EQ(missing_settings(host, kBoth), (Missing{"sysctl -w net.ipv4.ip_forward=1",
                                                    "sysctl -w net.ipv6.conf.all.forwarding=1"}));
  EXPECT_EQ(missing_settings(host, std::array{IpFamily::v6}),
            (Missing{"sysctl -w net.ipv6.conf.all.forwarding=1"}));
}

TEST(forwarding, a_family_that_the_kernel_does_not_know_is_unsupported) {
  MemoryFiles host = a_host("1\n", "1\n");
  EXPECT_TRUE(host.remove(kPath6));
  EXPECT_EQ(missing_settings(host, kBoth).outcome(), Outcome::unsupported);
  EXPECT_EQ(missing_settings(host, std::array{IpFamily::v4}), Missing{});
}

TEST(forwarding, what_cannot_be_read_is_no_answer) {
  MemoryFiles host = a_host("1\n", "1\n");
  host.break_path(kPath4, Outcome::denied);
  EXPECT_EQ(missing_settings(host, kBoth).outcome(), Outcome::denied);
}

}  // namespace
}  // namespace isthmus::infra::drivers
