#include "isthmus/net/digest.h"

#include <gtest/gtest.h>

#include <string>

namespace isthmus::net {
namespace {

// FIPS 180-2, appendix B.1.
TEST(digest, of_abc_is_the_one_in_the_standard) {
  const std::string begin = "\xba\x78\x16\xbf\x8f\x01\xcf\xea";
  EXPECT_EQ(sha256("abc").size(), 32U);
  EXPECT_EQ(sha256("abc").substr(0, begin.size()), begin);
  EXPECT_NE(sha256("abc"), sha256("abd"));
}

}  // namespace
}  // namespace isthmus::net
