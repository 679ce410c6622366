#include "isthmus/infra/host_report.h"

#include <gtest/gtest.h>

#include "isthmus/infra/balancer_status.h"

namespace isthmus::infra {
namespace {

// A ledger of load balancers that are not programmed for these reasons; "": one that is.
LedgerSnapshot a_ledger(const std::vector<std::string_view>& reasons) {
  LedgerSnapshot snapshot;
  for (std::string_view reason : reasons) {
    const ObjectName name{"prod", "lb" + std::to_string(snapshot.balancers.size())};
    BalancerRecord record;
    record.metadata.owner = name.owner;
    record.metadata.name = name.name;
    snapshot.balancers[name] = std::make_shared<const BalancerRecord>(record);
    StatusRecord status;
    status.status.conditions = {
        {.type = "Programmed",
         .status = reason.empty() ? api::ConditionStatus::is_true : api::ConditionStatus::is_false,
         .reason = std::string(reason),
         .message = "do something",
         .last_transition = {},
         .observed_generation = 1}};
    snapshot.statuses[name] = std::make_shared<const StatusRecord>(status);
  }
  return snapshot;
}

TEST(host_report, a_host_that_is_in_nobodys_way_has_no_trouble) {
  EXPECT_FALSE(host_trouble(a_ledger({})));
  EXPECT_FALSE(host_trouble(a_ledger({"", reason::address_conflict, reason::pending})));
}

TEST(host_report, what_is_in_the_way_of_most_comes_first) {
  EXPECT_EQ(host_trouble(a_ledger({"", reason::link_down})),
            "1 load balancer is not served: LinkDown, do something");
  EXPECT_EQ(host_trouble(a_ledger({reason::forwarding_off, reason::link_down, reason::link_down})),
            "2 load balancers are not served: LinkDown, do something; 1: ForwardingOff, do "
            "something");
}

}  // namespace
}  // namespace isthmus::infra
