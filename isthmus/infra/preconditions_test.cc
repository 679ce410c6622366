#include "isthmus/infra/preconditions.h"

#include <gtest/gtest.h>

namespace isthmus::infra {
namespace {

std::string failure(const Preconditions& preconditions, std::optional<Revision> standing) {
  std::optional<api::Problem> problem = precondition_failure(preconditions, "thing", standing);
  if (!problem) return "";
  EXPECT_EQ(problem->suffix(), api::problem::revision_conflict);
  return problem->detail;
}

TEST(preconditions, none_hold_for_anything) {
  EXPECT_EQ(failure({}, std::nullopt), "");
  EXPECT_EQ(failure({}, 7), "");
}

TEST(preconditions, a_revision_is_of_what_stands) {
  EXPECT_EQ(failure({.revision = 7}, 7), "");
  EXPECT_EQ(failure({.revision = 7}, 8), "If-Match: the thing is at revision 8, not at 7");
  EXPECT_EQ(failure({.revision = 7}, std::nullopt), "If-Match: there is no such thing");
}

TEST(preconditions, a_star_asks_whether_it_is_there) {
  EXPECT_EQ(failure({.exists = true}, 7), "");
  EXPECT_EQ(failure({.exists = true}, std::nullopt), "If-Match: there is no such thing");
  EXPECT_EQ(failure({.absent = true}, std::nullopt), "");
  EXPECT_EQ(failure({.absent = true}, 7), "If-None-Match: the thing exists, at revision 7");
}

}  // namespace
}  // namespace isthmus::infra
