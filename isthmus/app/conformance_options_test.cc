#include "isthmus/app/conformance_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace isthmus::app {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(conformance_options, are_those_of_the_flags) {
  ConformanceFlags flags;
  const ParsedFlags parsed = conformance_flags(flags).parse(
      {"--url=https://lb1:10280", "--ca-file=/ca", "--token-file=/token", "--owner=prod",
       "--other-token-file=/other", "--pool=public", "--families=IPv6,IPv4", "--patience=5s",
       "--target-addresses=10.0.0.1,10.0.0.2,10.0.0.3, 2001:db8::1,2001:db8::2,2001:db8::3",
       "--route-ranges=10.9.0.0/24,fd09::/48"});
  EXPECT_THAT(parsed.mistakes.list(), IsEmpty());
  MemoryFiles files;
  Mistakes mistakes;
  const StatusTarget target = conformance_target(files, flags, mistakes);
  const cloud::ConformanceOptions options = conformance_options(flags, mistakes);
  EXPECT_THAT(mistakes.list(), IsEmpty());
  EXPECT_EQ(target, (StatusTarget{"https://lb1:10280", "/ca", "/token"}));
  EXPECT_EQ(flags.owner, "prod");
  EXPECT_EQ(flags.other_token_file, "/other");
  EXPECT_EQ(options.pool, "public");
  EXPECT_THAT(options.families, ElementsAre(IpFamily::v6, IpFamily::v4));
  EXPECT_EQ(options.target_addresses.size(), 6U);
  EXPECT_EQ(options.route_ranges.size(), 2U);
  EXPECT_EQ(options.patience, std::chrono::seconds(5));
}

TEST(conformance_options, need_nothing_on_the_backends_own_machine) {
  MemoryFiles files;
  Mistakes mistakes;
  EXPECT_EQ(conformance_target(files, {}, mistakes).url, "unix:///run/isthmus/infra.sock");
  EXPECT_THAT(conformance_options({}, mistakes).families, ElementsAre(IpFamily::v4));
  EXPECT_THAT(mistakes.list(), IsEmpty());
}

TEST(conformance_options, are_refused_by_name_all_together) {
  ConformanceFlags flags;
  flags.url = "http://example.com";
  flags.ca_file = "/ca";
  flags.owner = "a/b";
  flags.families = "IPv4,IPv5,IPv4";
  flags.target_addresses = "10.0.0.1,x";
  flags.route_ranges = "10.9.0.0/25,10.9.0.1/24";
  MemoryFiles files;
  Mistakes mistakes;
  conformance_target(files, flags, mistakes);
  conformance_options(flags, mistakes);
  EXPECT_THAT(mistakes.list(),
              ElementsAre(HasSubstr("--owner: expected"), HasSubstr("--url: "),
                          HasSubstr("--ca-file: "), "--families: \"IPv5\" is neither IPv4 nor IPv6",
                          "--families: names IPv4 twice", HasSubstr("--target-addresses: "),
                          "--target-addresses: names fewer than three IPv4 addresses",
                          "--route-ranges: 10.9.0.0/25 is not of 1 to 24 bits",
                          HasSubstr("--route-ranges: ")));
}

TEST(conformance_options, name_at_least_one_family) {
  ConformanceFlags flags;
  flags.families = " , ";
  Mistakes mistakes;
  conformance_options(flags, mistakes);
  EXPECT_THAT(mistakes.list(), ElementsAre(HasSubstr("--families: expected")));
}

}  // namespace
}  // namespace isthmus::app
