#include "isthmus/infra/drivers/driver.h"

#include <gtest/gtest.h>

namespace isthmus::infra::drivers {
namespace {

TEST(driver, a_listener_is_named_by_protocol_address_and_port) {
  EXPECT_EQ(to_string(ListenerKey{*parse_ip("192.0.2.1"), Protocol::tcp, 80}), "tcp 192.0.2.1:80");
  EXPECT_EQ(to_string(ListenerKey{*parse_ip("2001:db8::1"), Protocol::udp, 53}),
            "udp [2001:db8::1]:53");
}

}  // namespace
}  // namespace isthmus::infra::drivers
