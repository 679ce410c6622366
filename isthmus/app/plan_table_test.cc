#include "isthmus/app/plan_table.h"

#include <gtest/gtest.h>

namespace isthmus::app {
namespace {

using controllers::Act;
using controllers::Outlook;

TEST(plan_table, shows_each_object_with_what_would_change_below_it) {
  const std::vector<Outlook> outlooks{
      {"Node",
       {"", "n1"},
       Act::initialize,
       "Uninitialized",
       "initialize as isthmus://1",
       {"providerID isthmus://1", "no taint x"}},
      {"Node", {"", "node22"}, Act::none, "", "it is as its machine is"},
      {"Service", {"shop", "web"}, Act::refuse, "InvalidAnnotation", "isthmus.dev/x: what\x1b?"}};
  EXPECT_EQ(plan_table(outlooks),
            "OBJECT            ACTION      REASON             WHAT\n"
            "node/n1           initialize  Uninitialized      initialize as isthmus://1\n"
            "  └ providerID isthmus://1\n"
            "  └ no taint x\n"
            "node/node22       none        -                  it is as its machine is\n"
            "service/shop/web  refuse      InvalidAnnotation  isthmus.dev/x: what??\n"
            "\n"
            "1 to initialize, 1 to refuse; 1 as they should be.\n");
}

TEST(plan_table, says_so_when_nothing_is_to_be_done) {
  EXPECT_EQ(plan_table({{"Node", {"", "n1"}}}),
            "OBJECT   ACTION  REASON  WHAT\n"
            "node/n1  none    -       \n"
            "\n"
            "Nothing is to be done.\n");
  EXPECT_EQ(plan_table({}), "Nothing concerns this manager.\n");
}

}  // namespace
}  // namespace isthmus::app
