#include "isthmus/controllers/target_hash.h"

#include <set>

#include <gtest/gtest.h>

namespace isthmus::controllers {
namespace {

using Targets = std::vector<cloud::Target>;

IpAddress ip(std::string_view text) { return parse_ip(text).value(); }

TEST(target_hash, is_another_for_every_difference) {
  const Targets lists[] = {
      {},
      {{.name = "a"}},
      {{.name = "b"}},
      {{.name = "a"}, {.name = "b"}},
      {{.name = "b"}, {.name = "a"}},
      {{.name = "a", .addresses = {ip("10.0.0.1")}}},
      {{.name = "a", .addresses = {ip("10.0.0.2")}}},
      {{.name = "a", .addresses = {ip("fd00::1")}}},
      {{.name = "a", .addresses = {ip("10.0.0.1"), ip("fd00::1")}}},
      {{.name = "a", .instance = cloud::ProviderId{"isthmus", "1"}}},
      {{.name = "a", .instance = cloud::ProviderId{"isthmus", "2"}}},
  };
  std::set<std::string> hashes;
  for (const Targets& list : lists) {
    EXPECT_EQ(hash_of(list).size(), 32U);
    EXPECT_EQ(hash_of(list), hash_of(Targets(list)));
    hashes.insert(hash_of(list));
  }
  EXPECT_EQ(hashes.size(), std::size(lists));
}

// What one target ends with is not what the next begins with.
TEST(target_hash, does_not_run_one_part_into_the_next) {
  EXPECT_NE(hash_of({{.name = "ab"}, {.name = "c"}}), hash_of({{.name = "a"}, {.name = "bc"}}));
}

}  // namespace
}  // namespace isthmus::controllers
