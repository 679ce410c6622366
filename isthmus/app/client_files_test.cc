#include "isthmus/app/client_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace isthmus::app {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(client_files, give_the_first_token_of_several) {
  MemoryFiles files;
  ASSERT_TRUE(files.write("/token", "\n one \ntwo\n", FileMode::owner_only));
  Mistakes mistakes;
  EXPECT_EQ(read_token(files, "--token-file", "/token", mistakes).reveal(), "one");
  EXPECT_TRUE(read_token(files, "--token-file", "", mistakes).empty());
  EXPECT_FALSE(read_ca(files, "", mistakes));
  EXPECT_TRUE(mistakes.empty());
}

TEST(client_files, that_cannot_be_used_are_named_with_their_flags) {
  MemoryFiles files;
  ASSERT_TRUE(files.write("/empty", "\n", FileMode::owner_only));
  Mistakes mistakes;
  read_token(files, "--token-file", "/empty", mistakes);
  read_token(files, "--other-token-file", "/nowhere", mistakes);
  read_ca(files, "/empty", mistakes);
  read_ca(files, "/nowhere", mistakes);
  EXPECT_THAT(mistakes.list(),
              ElementsAre("--token-file: /empty: holds no token", HasSubstr("--other-token-file: "),
                          HasSubstr("--ca-file: /empty: "), HasSubstr("--ca-file: ")));
}

}  // namespace
}  // namespace isthmus::app
