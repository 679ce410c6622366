#include "isthmus/controllers/service_addresses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "isthmus/controllers/service_plan_testing.h"

namespace isthmus::controllers {
namespace {

using testing::dual_stack_service;
using ::testing::ElementsAre;
using testing::ip;
using ::testing::IsEmpty;
using testing::service;

struct Answer {
  ServiceAddresses addresses;
  Complaints complaints;
  std::vector<Notice> notices;
};

Answer ask(const kube::Service& service, std::vector<IpAddress> wished = {}) {
  Answer answer;
  answer.addresses =
      addresses_of(service, {.addresses = std::move(wished)}, answer.complaints, answer.notices);
  return answer;
}

std::string complaint_of(const Answer& answer) {
  EXPECT_EQ(answer.complaints.refusal().reason, "InvalidAddress");
  return answer.complaints.refusal().message;
}

kube::Service asking_for(std::string address, kube::Service service = testing::service()) {
  service.load_balancer_ip = std::move(address);
  return service;
}

TEST(service_families, are_the_services_in_its_order) {
  kube::Service both = dual_stack_service();
  EXPECT_THAT(families_of(both), ElementsAre(IpFamily::v4, IpFamily::v6));
  both.ip_families = {"IPv6", "IPv5", "IPv4", "IPv6"};
  EXPECT_THAT(families_of(both), ElementsAre(IpFamily::v6, IpFamily::v4));
}

TEST(service_families, are_those_of_the_cluster_ips_where_the_server_names_none) {
  kube::Service old = service();
  old.ip_families.clear();
  old.cluster_ips = {"fd00::1"};
  EXPECT_THAT(families_of(old), ElementsAre(IpFamily::v6));
  old.cluster_ips = {"None"};
  EXPECT_THAT(families_of(old), ElementsAre(IpFamily::v4));
}

TEST(service_addresses, are_any_of_the_services_families_where_nothing_is_asked_for) {
  const Answer answer = ask(dual_stack_service());
  EXPECT_EQ(answer.addresses, (ServiceAddresses{.families = {IpFamily::v4, IpFamily::v6}}));
  EXPECT_THAT(answer.notices, IsEmpty());
}

TEST(service_addresses, are_asked_for_by_annotation_or_load_balancer_ip) {
  EXPECT_THAT(ask(asking_for("192.0.2.1")).addresses.requested, ElementsAre(ip("192.0.2.1")));
  EXPECT_THAT(ask(asking_for(" 192.0.2.1 ")).addresses.requested, ElementsAre(ip("192.0.2.1")));
  const Answer both = ask(dual_stack_service(), {ip("192.0.2.1"), ip("2001:db8::1")});
  EXPECT_THAT(both.addresses.requested, ElementsAre(ip("192.0.2.1"), ip("2001:db8::1")));
  EXPECT_THAT(both.addresses.families, ElementsAre(IpFamily::v4, IpFamily::v6));
}

TEST(service_addresses, may_be_asked_for_in_both_places_if_they_agree) {
  const Answer agreeing =
      ask(asking_for("2001:db8::1", dual_stack_service()), {ip("192.0.2.1"), ip("2001:db8::1")});
  EXPECT_TRUE(agreeing.complaints.empty());
  EXPECT_EQ(complaint_of(ask(asking_for("192.0.2.2"), {ip("192.0.2.1")})),
            "spec.loadBalancerIP asks for 192.0.2.2, and isthmus.dev/addresses does not; remove "
            "one of them");
}

TEST(service_addresses, of_one_family_leave_a_dual_stack_service_without_the_other) {
  const Answer answer = ask(asking_for("2001:db8::1", dual_stack_service()));
  EXPECT_THAT(answer.addresses.families, ElementsAre(IpFamily::v6));
  ASSERT_EQ(answer.notices.size(), 1U);
  EXPECT_EQ(answer.notices[0].reason, "SingleFamily");
  EXPECT_FALSE(answer.notices[0].warning);
  EXPECT_EQ(answer.notices[0].message,
            "it gets no IPv4 address, because an address is asked for and none of IPv4; to have "
            "both, name both in the annotation isthmus.dev/addresses");
}

TEST(service_addresses, that_are_impossible_are_complained_of) {
  EXPECT_EQ(complaint_of(ask(asking_for("lb.example"))),
            "spec.loadBalancerIP: \"lb.example\" is not an IP address");
  EXPECT_EQ(complaint_of(ask(asking_for("0.0.0.0"))),
            "spec.loadBalancerIP: 0.0.0.0 is an unspecified address, which nobody can reach");
  EXPECT_EQ(complaint_of(ask(asking_for("2001:db8::1"))),
            "2001:db8::1 is asked for, and ipFamilies of the Service has IPv4 only");
  EXPECT_EQ(complaint_of(ask(service(), {ip("192.0.2.1"), ip("2001:db8::1")})),
            "2001:db8::1 is asked for, and ipFamilies of the Service has IPv4 only");
}

// A Service whose status holds a free address keeps it, whoever gave it.
TEST(service_addresses, in_the_status_are_preferred) {
  kube::Service moved = service();
  moved.ingress = {{.ip = "192.0.2.7"}, {.ip = "2001:db8::7"}, {.hostname = "lb.example"},
                   {.ip = "nonsense"},  {.ip = "192.0.2.7"},   {.ip = "127.0.0.1"},
                   {.ip = "192.0.2.8"}};
  EXPECT_THAT(ask(moved).addresses.preferred, ElementsAre(ip("192.0.2.7"), ip("192.0.2.8")));
  EXPECT_THAT(ask(asking_for("192.0.2.1", moved)).addresses.preferred, IsEmpty());
}

}  // namespace
}  // namespace isthmus::controllers
