#include "isthmus/infra/api/orphan.h"

#include <gtest/gtest.h>

namespace isthmus::infra::api {
namespace {

Orphan an_orphan() {
  return {.owner = "prod",
          .name = "web",
          .generation = 7,
          .addresses = {parse_ip("192.0.2.1").value()},
          .abandoned = true};
}

TEST(orphan, is_read_as_it_was_written) {
  EXPECT_EQ(decode_orphan(encode(an_orphan())).value(), an_orphan());
  OrphanList list{.items = {an_orphan()}, .revision = 42};
  EXPECT_EQ(decode_orphan_list(encode(list)).value(), list);
}

TEST(orphan, one_that_cannot_be_read_does_not_hide_the_others) {
  std::string text = encode(OrphanList{.items = {an_orphan()}, .revision = 42});
  text.replace(text.find("\"items\":[") + 9, 0, R"({"kind":"Orphan"},)");
  OrphanList list = decode_orphan_list(text).value();
  EXPECT_EQ(list.items.size(), 1u);
  EXPECT_EQ(list.not_understood, 1u);
  EXPECT_EQ(decode_orphan("{}").outcome(), Outcome::lost);
  EXPECT_EQ(decode_orphan_list("<html>").outcome(), Outcome::lost);
}

}  // namespace
}  // namespace isthmus::infra::api
