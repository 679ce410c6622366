#include "isthmus/controllers/service_annotations.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "isthmus/controllers/service_plan_testing.h"

namespace isthmus::controllers {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::ip;
using ::testing::IsEmpty;
using ::testing::Not;
using HealthCheck = cloud::LoadBalancerSpec::HealthCheck;
using SourceAddress = cloud::LoadBalancerSpec::SourceAddress;

std::string prefixed(std::string_view name) {
  return std::string(kAnnotationPrefix) + std::string(name);
}

ServiceWishes right(const kube::StringMap& annotations) {
  Mistakes mistakes;
  ServiceWishes wishes = read_annotations(annotations, mistakes);
  EXPECT_TRUE(mistakes.empty()) << mistakes.text();
  return wishes;
}

std::vector<std::string> wrong(const kube::StringMap& annotations) {
  Mistakes mistakes;
  (void)read_annotations(annotations, mistakes);
  return mistakes.list();
}

TEST(service_annotations, are_read_into_wishes) {
  const ServiceWishes wishes = right({
      {"isthmus.dev/pool", "public-2"},
      {"isthmus.dev/addresses", "192.0.2.1, 2001:db8::1"},
      {"isthmus.dev/source-address", "keep"},
      {"isthmus.dev/health-check-node", "kubelet"},
      {"isthmus.dev/health-check-protocol", "http"},
      {"isthmus.dev/health-check-port", "8080"},
      {"isthmus.dev/health-check-path", "/ready?full=1"},
      {"isthmus.dev/health-check-interval", "1m30s"},
      {"isthmus.dev/health-check-timeout", "500ms"},
      {"isthmus.dev/health-check-rise", "1"},
      {"isthmus.dev/health-check-fall", "100"},
  });
  const ServiceWishes expected{.pool = "public-2",
                               .addresses = {ip("192.0.2.1"), ip("2001:db8::1")},
                               .source_address = SourceAddress::keep,
                               .node_health = NodeHealth::kubelet,
                               .check_protocol = HealthCheck::Protocol::http,
                               .check_port = 8080,
                               .check_path = "/ready?full=1",
                               .check_interval = 90s,
                               .check_timeout = 500ms,
                               .check_rise = 1,
                               .check_fall = 100};
  EXPECT_EQ(wishes, expected);
}

TEST(service_annotations, of_others_are_not_looked_at) {
  EXPECT_EQ(right({{"kubectl.kubernetes.io/last-applied-configuration", "{}"},
                   {"isthmus.development/pool", "x"},
                   {"metallb.io/address-pool", "x"}}),
            ServiceWishes{});
}

TEST(service_annotations, may_have_their_other_word_as_well) {
  EXPECT_EQ(right({{"isthmus.dev/source-address", "masquerade"}}).source_address,
            SourceAddress::masquerade);
  EXPECT_EQ(right({{"isthmus.dev/health-check-protocol", "tcp"}}).check_protocol,
            HealthCheck::Protocol::tcp);
  EXPECT_EQ(right({{"isthmus.dev/health-check-node", "auto"}}).node_health, NodeHealth::automatic);
  EXPECT_EQ(right({{"isthmus.dev/health-check-node", "kube-proxy"}}).node_health,
            NodeHealth::kube_proxy);
}

TEST(service_annotations, with_a_value_that_is_none_are_mistakes) {
  struct Row {
    std::string_view name;
    std::string value;
    std::string_view says;
  };
  for (const Row& row : {
           Row{"pool", "",
               "expected the name of a pool: at most 63 lower-case letters, digits and "
               "'-', found \"\""},
           Row{"pool", "Public", "found \"Public\""},
           Row{"pool", "-public", "found \"-public\""},
           Row{"pool", "../pools/x", "found \"../pools/x\""},
           Row{"pool", std::string(64, 'a'), "expected the name of a pool"},
           Row{"pool", "a\nb", "found \"a\\nb\""},
           Row{"addresses", "", "expected IP addresses with commas between, found \"\""},
           Row{"addresses", "192.0.2.1,", "found \"192.0.2.1,\""},
           Row{"addresses", "192.0.2.1 192.0.2.2", "expected IP addresses"},
           Row{"addresses", "::ffff:192.0.2.1", "expected IP addresses"},
           Row{"addresses", "127.0.0.1", "127.0.0.1 is a loopback address, which nobody can reach"},
           Row{"addresses", "2001:db8::1,2001:DB8:0::1", "2001:db8::1 is given twice"},
           Row{"addresses",
               "10.0.0.1,10.0.0.2,10.0.0.3,10.0.0.4,10.0.0.5,10.0.0.6,10.0.0.7,"
               "10.0.0.8,10.0.0.9",
               "at most 8 addresses are possible, found 9"},
           Row{"addresses", std::string(200'000, ','),
               "at most 8 addresses are possible, found 200001"},
           Row{"source-address", "Keep", "expected masquerade or keep, found \"Keep\""},
           Row{"health-check-node", "kubeproxy", "expected auto, kube-proxy or kubelet"},
           Row{"health-check-protocol", "HTTP", "expected http or tcp"},
           Row{"health-check-port", "0", "expected a port from 1 to 65535, found \"0\""},
           Row{"health-check-port", "65536", "expected a port"},
           Row{"health-check-port", "+80", "expected a port"},
           Row{"health-check-port", "80 ", "expected a port"},
           Row{"health-check-port", "99999999999999999999", "expected a port"},
           Row{"health-check-path", "healthz", "expected a path that begins with '/'"},
           Row{"health-check-path", "/a b", "expected a path"},
           Row{"health-check-path", "/\r\nHost: x", "expected a path"},
           Row{"health-check-path", "/" + std::string(1024, 'a'), "expected a path"},
           Row{"health-check-interval", "5", "expected a duration from 100ms to 1h, like 5s"},
           Row{"health-check-interval", "99ms", "expected a duration"},
           Row{"health-check-interval", "61m", "expected a duration"},
           Row{"health-check-interval", "-5s", "expected a duration"},
           Row{"health-check-timeout", "9ms", "expected a duration from 10ms to 1h, like 2s"},
           Row{"health-check-rise", "0", "expected a whole number from 1 to 100, found \"0\""},
           Row{"health-check-fall", "101", "expected a whole number from 1 to 100"},
           Row{"health-check-fall", "2.5", "expected a whole number"},
       }) {
    const std::vector<std::string> mistakes = wrong({{prefixed(row.name), row.value}});
    ASSERT_EQ(mistakes.size(), 1U) << row.name << "=" << row.value;
    EXPECT_THAT(mistakes[0], ::testing::StartsWith(prefixed(row.name) + ": "));
    EXPECT_THAT(mistakes[0], HasSubstr(std::string(row.says)));
    EXPECT_LE(mistakes[0].size(), 300U);
  }
}

TEST(service_annotations, that_do_not_work_yet_are_refused_by_name) {
  for (const char* name :
       {"protocol", "certificate", "algorithm", "proxy-protocol", "idle-timeout", "preserve"}) {
    EXPECT_THAT(wrong({{prefixed(name), "x"}}),
                ElementsAre(prefixed(name) + ": does not work yet in this version; remove it"));
  }
}

TEST(service_annotations, that_do_not_exist_are_refused_with_the_nearest_that_does) {
  EXPECT_THAT(wrong({{"isthmus.dev/adresses", "192.0.2.1"}}),
              ElementsAre("isthmus.dev/adresses: there is no such annotation; did you mean "
                          "isthmus.dev/addresses?"));
  EXPECT_THAT(wrong({{"isthmus.dev/Pool", "x"}}), ElementsAre(HasSubstr("isthmus.dev/pool?")));
  EXPECT_THAT(wrong({{"isthmus.dev/healthcheck-port", "1"}}),
              ElementsAre(HasSubstr("isthmus.dev/health-check-port?")));
  EXPECT_THAT(wrong({{"isthmus.dev/bandwidth", "x"}}),
              ElementsAre("isthmus.dev/bandwidth: there is no such annotation; remove it"));
  EXPECT_THAT(wrong({{"isthmus.dev/", "x"}}), ElementsAre(HasSubstr("no such annotation")));
}

TEST(service_annotations, tell_all_mistakes_at_once) {
  EXPECT_EQ(wrong({{"isthmus.dev/pool", ""},
                   {"isthmus.dev/preserve", "true"},
                   {"isthmus.dev/pools", "x"},
                   {"isthmus.dev/source-address", "keep"}})
                .size(),
            3U);
}

TEST(service_annotations, that_a_watched_service_must_keep_are_ours_and_upstreams_ranges) {
  EXPECT_TRUE(is_service_annotation("isthmus.dev/pool"));
  EXPECT_TRUE(is_service_annotation("isthmus.dev/nonsense"));
  EXPECT_TRUE(is_service_annotation("service.beta.kubernetes.io/load-balancer-source-ranges"));
  EXPECT_FALSE(is_service_annotation("kubectl.kubernetes.io/last-applied-configuration"));
  EXPECT_FALSE(is_service_annotation("isthmus.dev"));
}

TEST(node_health, is_read_back_from_its_word) {
  for (const NodeHealth health :
       {NodeHealth::automatic, NodeHealth::kube_proxy, NodeHealth::kubelet}) {
    EXPECT_EQ(parse_node_health(to_string(health)), health);
  }
  EXPECT_EQ(parse_node_health(""), std::nullopt);
}

TEST(annotation_reference, has_every_annotation_with_what_an_absent_one_means) {
  const std::string page = annotation_reference();
  std::set<std::string_view> names;
  for (const ServiceAnnotation& row : service_annotations()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_THAT(page, HasSubstr("**`" + std::string(row.name) + "`**"));
    EXPECT_FALSE(row.meaning.empty());
    if (row.read == nullptr) continue;
    EXPECT_FALSE(row.absent.empty()) << row.name;
    EXPECT_THAT(page, HasSubstr("| `" + prefixed(row.name) + "` | "));
  }
  EXPECT_EQ(names.size(), 17U);
  EXPECT_THAT(page, Not(HasSubstr("|  |")));
  EXPECT_EQ(page, annotation_reference());
}

}  // namespace
}  // namespace isthmus::controllers
