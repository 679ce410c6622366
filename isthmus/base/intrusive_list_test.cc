#include "isthmus/base/intrusive_list.h"

#include <memory>
#include <vector>

#include <gtest/gtest.h>

namespace isthmus {
namespace {

struct Number : ListNode {
  explicit Number(int value_) : value(value_) {}
  int value;
};

std::vector<int> values(ListNode& head) {
  std::vector<int> found;
  head.for_each([&found](ListNode& node) { found.push_back(static_cast<Number&>(node).value); });
  return found;
}

TEST(intrusive_list, keeps_the_order_in_which_nodes_came) {
  ListNode head;
  Number one(1), two(2), zero(0);
  head.push_back(one);
  head.push_back(two);
  head.push_front(zero);
  EXPECT_EQ(values(head), (std::vector{0, 1, 2}));
  EXPECT_EQ(&head.front(), &zero);
}

TEST(intrusive_list, a_destroyed_node_has_left) {
  ListNode head;
  Number one(1), three(3);
  auto two = std::make_unique<Number>(2);
  head.push_back(one);
  head.push_back(*two);
  head.push_back(three);
  two.reset();
  EXPECT_EQ(values(head), (std::vector{1, 3}));
}

TEST(intrusive_list, a_head_that_goes_first_leaves_sound_nodes) {
  Number one(1), two(2);
  {
    ListNode head;
    head.push_back(one);
    head.push_back(two);
  }
  one.unlink();
  EXPECT_FALSE(one.linked());
  EXPECT_FALSE(two.linked());
}

TEST(intrusive_list, splicing_takes_all_nodes_in_order) {
  ListNode here, there;
  Number one(1), two(2), three(3);
  here.push_back(one);
  there.push_back(two);
  there.push_back(three);
  here.splice(there);
  EXPECT_EQ(values(here), (std::vector{1, 2, 3}));
  EXPECT_FALSE(there.linked());
}

}  // namespace
}  // namespace isthmus
