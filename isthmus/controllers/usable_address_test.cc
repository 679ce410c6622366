#include "isthmus/controllers/usable_address.h"

#include <gtest/gtest.h>

namespace isthmus::controllers {
namespace {

TEST(usable_address, is_one_that_packets_from_elsewhere_reach) {
  for (const char* text : {"10.0.0.1", "192.0.2.255", "169.253.0.1", "223.255.255.255", "126.0.0.1",
                           "fd00::1", "2001:db8::", "::2", "fec0::1"}) {
    EXPECT_EQ(why_unusable(*parse_ip(text)), std::nullopt) << text;
  }
}

TEST(usable_address, says_what_the_others_are) {
  struct Row {
    std::string_view address;
    std::string_view kind;
  };
  for (const Row& row : {
           Row{"0.0.0.0", "an unspecified address"},
           Row{"0.1.2.3", "an unspecified address"},
           Row{"::", "an unspecified address"},
           Row{"127.0.0.1", "a loopback address"},
           Row{"127.255.0.1", "a loopback address"},
           Row{"::1", "a loopback address"},
           Row{"169.254.0.1", "a link-local address"},
           Row{"fe80::1", "a link-local address"},
           Row{"febf::1", "a link-local address"},
           Row{"224.0.0.1", "a multicast address"},
           Row{"239.1.1.1", "a multicast address"},
           Row{"ff02::1", "a multicast address"},
           Row{"240.0.0.1", "a broadcast or reserved address"},
           Row{"255.255.255.255", "a broadcast or reserved address"},
       }) {
    EXPECT_EQ(why_unusable(*parse_ip(row.address)), row.kind) << row.address;
  }
}

}  // namespace
}  // namespace isthmus::controllers
