#include "isthmus/controllers/source_ranges.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "isthmus/controllers/service_plan_testing.h"

namespace isthmus::controllers {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::range;

const std::vector<IpFamily> kV4{IpFamily::v4};
const std::vector<IpFamily> kV6{IpFamily::v6};
const std::vector<IpFamily> kBoth{IpFamily::v4, IpFamily::v6};

kube::Service with(std::vector<std::string> ranges) {
  kube::Service service = testing::service();
  service.load_balancer_source_ranges = std::move(ranges);
  return service;
}

kube::Service with_annotation(std::string value) {
  kube::Service service = testing::service();
  service.meta.annotations.set(kSourceRangesAnnotation, std::move(value));
  return service;
}

SourceRanges right(const kube::Service& service, const std::vector<IpFamily>& families) {
  Complaints complaints;
  SourceRanges ranges = source_ranges(service, families, complaints);
  EXPECT_TRUE(complaints.empty()) << complaints.refusal().message;
  return ranges;
}

std::string wrong(const kube::Service& service, const std::vector<IpFamily>& families) {
  Complaints complaints;
  EXPECT_EQ(source_ranges(service, families, complaints), SourceRanges{});
  EXPECT_EQ(complaints.refusal().reason, "InvalidSourceRanges");
  return complaints.refusal().message;
}

TEST(source_range, is_read_as_leniently_as_upstream_reads_it) {
  struct Row {
    std::string_view written;
    std::string_view meant;
  };
  for (const Row& row : {
           Row{"192.0.2.0/24", "192.0.2.0/24"},
           Row{" 192.0.2.0/24\t", "192.0.2.0/24"},
           Row{"010.000.00.0/08", "10.0.0.0/8"},
           Row{"192.168.010.001/32", "192.168.10.1/32"},
           Row{"10.1.2.3/9", "10.0.0.0/9"},
           Row{"10.255.2.3/9", "10.128.0.0/9"},
           Row{"1.2.3.4/0", "0.0.0.0/0"},
           Row{"2001:db8::1/32", "2001:db8::/32"},
           Row{"2001:0db8::/032", "2001:db8::/32"},
           Row{"::/0", "::/0"},
       }) {
    const Result<IpPrefix> read = parse_source_range(row.written);
    ASSERT_TRUE(read) << row.written;
    EXPECT_EQ(to_string(*read), row.meant);
  }
}

TEST(source_range, is_refused_where_it_is_none) {
  for (const char* text : {"", " ", "10.0.0.0", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1",
                           "10.0.0.0/+8", "10.0.0/8", "10.0.0.0/8/8", "256.0.0.0/8", "::/129",
                           "::ffff:10.0.0.0/104", "10.0.0.0/8x", "all", "10.0.0.0 /8"}) {
    EXPECT_EQ(parse_source_range(text).outcome(), Outcome::invalid) << text;
  }
}

TEST(source_ranges, let_everyone_in_where_there_are_none) {
  EXPECT_EQ(right(testing::service(), kBoth), SourceRanges{});
  EXPECT_EQ(right(with_annotation(""), kBoth), SourceRanges{});
  EXPECT_EQ(right(with_annotation("  "), kBoth), SourceRanges{});
}

TEST(source_ranges, come_in_order_and_once) {
  EXPECT_THAT(
      right(with({"192.0.2.0/24", "10.0.0.0/8", "010.9.9.9/8", "192.0.2.0/25"}), kV4).allowed,
      ElementsAre(range("10.0.0.0/8"), range("192.0.2.0/24"), range("192.0.2.0/25")));
}

TEST(source_ranges, come_from_upstreams_annotation_where_the_field_is_empty) {
  EXPECT_THAT(right(with_annotation(" 192.0.2.0/24 , 10.0.0.0/8 "), kV4).allowed,
              ElementsAre(range("10.0.0.0/8"), range("192.0.2.0/24")));
  kube::Service both = with_annotation("192.0.2.0/24");
  both.load_balancer_source_ranges = {"10.0.0.0/8"};
  EXPECT_THAT(right(both, kV4).allowed, ElementsAre(range("10.0.0.0/8")));
}

TEST(source_ranges, of_all_addresses_of_each_family_are_everyone) {
  EXPECT_EQ(right(with({"0.0.0.0/0"}), kV4), SourceRanges{});
  EXPECT_EQ(right(with({"10.0.0.0/8", "0.0.0.0/0"}), kV4), SourceRanges{});
  EXPECT_EQ(right(with({"::/0"}), kV6), SourceRanges{});
  EXPECT_EQ(right(with({"::/0", "0.0.0.0/0"}), kBoth), SourceRanges{});
}

TEST(source_ranges, close_a_family_that_none_of_them_is_of) {
  const SourceRanges all_of_v4 = right(with({"0.0.0.0/0"}), kBoth);
  EXPECT_THAT(all_of_v4.allowed, ElementsAre(range("0.0.0.0/0")));
  EXPECT_THAT(all_of_v4.closed, ElementsAre(IpFamily::v6));
  EXPECT_THAT(right(with({"2001:db8::/32"}), kBoth).closed, ElementsAre(IpFamily::v4));
}

TEST(source_ranges, of_families_that_the_load_balancer_has_not_are_left_out) {
  const SourceRanges ranges = right(with({"2001:db8::/32", "10.0.0.0/8"}), kV4);
  EXPECT_THAT(ranges.allowed, ElementsAre(range("10.0.0.0/8")));
  EXPECT_THAT(ranges.closed, IsEmpty());
}

TEST(source_ranges, are_refused_where_nobody_could_come) {
  EXPECT_EQ(wrong(with({"0.0.0.0/0"}), kV6),
            "spec.loadBalancerSourceRanges: none of the ranges is IPv6, so nobody could use the "
            "load balancer; add ::/0 to let everyone in");
  EXPECT_THAT(wrong(with({"2001:db8::/32"}), kV4), HasSubstr("add 0.0.0.0/0"));
}

TEST(source_ranges, are_refused_all_together_with_the_place_and_every_wrong_one) {
  EXPECT_EQ(wrong(with({"10.0.0.0/8", "all", "10.0.0.0/40"}), kV4),
            "spec.loadBalancerSourceRanges: expected ranges like 192.0.2.0/24 or 2001:db8::/32, "
            "found \"all\", \"10.0.0.0/40\"");
  EXPECT_THAT(wrong(with_annotation("10.0.0.0/8,"), kV4),
              HasSubstr("service.beta.kubernetes.io/load-balancer-source-ranges: expected"));
}

TEST(source_ranges, are_at_most_500) {
  std::vector<std::string> many;
  for (int i = 0; i < 500; ++i) {
    many.push_back("10." + std::to_string(i / 250) + "." + std::to_string(i % 250) + ".0/24");
  }
  EXPECT_EQ(right(with(many), kV4).allowed.size(), 500U);
  many.emplace_back("192.0.2.0/24");
  EXPECT_EQ(wrong(with(many), kV4),
            "spec.loadBalancerSourceRanges: at most 500 ranges are possible, found 501");
}

TEST(source_ranges, that_are_wrong_by_the_hundred_are_told_in_one_line) {
  const std::string message =
      wrong(with(std::vector<std::string>(400, std::string(500, 'x'))), kV4);
  EXPECT_THAT(message, HasSubstr(" and 395 more"));
  EXPECT_LE(message.size(), 600U);
}

}  // namespace
}  // namespace isthmus::controllers
