#include "isthmus/controllers/service_complaints.h"

#include <gtest/gtest.h>

namespace isthmus::controllers {
namespace {

TEST(service_complaints, come_in_one_message_under_the_reason_of_the_first) {
  Complaints complaints;
  EXPECT_TRUE(complaints.empty());
  complaints.add(complaint::port, "80 is there twice");
  complaints.add(complaint::address, "x is no address");
  EXPECT_FALSE(complaints.empty());
  EXPECT_EQ(complaints.refusal().reason, "InvalidPort");
  EXPECT_EQ(complaints.refusal().message, "80 is there twice; x is no address");
}

TEST(service_complaints, name_five_of_many) {
  EXPECT_EQ(some_of({"a"}), "a");
  EXPECT_EQ(some_of({"a", "b", "c", "d", "e"}), "a, b, c, d, e");
  EXPECT_EQ(some_of({"a", "b", "c", "d", "e", "f", "g"}), "a, b, c, d, e and 2 more");
}

}  // namespace
}  // namespace isthmus::controllers
