#include "isthmus/infra/label_selector.h"

#include <gtest/gtest.h>

namespace isthmus::infra {
namespace {

bool selects(std::string_view selector, std::map<std::string, std::string> labels) {
  return LabelSelector::parse(selector).value().matches(labels);
}

TEST(label_selector, the_empty_one_selects_everything) {
  EXPECT_TRUE(selects("", {}));
  EXPECT_TRUE(selects(" ", {{"a", "b"}}));
}

TEST(label_selector, each_form_means_what_kubernetes_says) {
  std::map<std::string, std::string> labels{{"rack", "7"}, {"disk", "ssd"}, {"e", ""}};
  for (std::string_view yes :
       {"rack=7", "rack==7", "rack = 7", "rack!=8", "new!=8", "disk", "!new", "rack in (6, 7)",
        "rack notin (8)", "new notin (8)", "e=", "e in ()", "rack=7,disk=ssd", "rack in (7,8),disk",
        "isthmus.dev/a notin (b),rack"}) {
    EXPECT_TRUE(selects(yes, labels)) << yes;
  }
  for (std::string_view no : {"rack=8", "rack!=7", "new=7", "new", "!disk", "rack in (8)",
                              "new in (7)", "rack notin (7,8)", "rack=7,disk=hdd", "new="}) {
    EXPECT_FALSE(selects(no, labels)) << no;
  }
}

TEST(label_selector, what_is_wrong_is_quoted) {
  for (std::string_view wrong :
       {"a b", "=7", "rack=a b", ",", "a,,b", "a,", "rack is (7)", "rack in 7", "rack in (7",
        "in (7)", "!", "rack=7=8", "a/b/c", "rack in (7) x", "rack!==7", "ra\nck"}) {
    Result<LabelSelector> selector = LabelSelector::parse(wrong);
    EXPECT_EQ(selector.outcome(), Outcome::invalid) << wrong;
  }
  EXPECT_EQ(LabelSelector::parse(std::string(5000, 'a')).outcome(), Outcome::invalid);
}

}  // namespace
}  // namespace isthmus::infra
