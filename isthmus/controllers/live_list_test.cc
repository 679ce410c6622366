#include "isthmus/controllers/live_list.h"

#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "isthmus/base/virtual_world.h"
#include "isthmus/kube/testing/fake_api.h"

namespace isthmus::controllers {
namespace {

using kube::testing::Verb;

struct live_list : testing::Test {
  live_list() {
    for (int i = 0; i < 5; ++i) {
      api.put(kube::Node::resource, fmt::format(R"({{"metadata": {{"name": "n{}"}}}})", i));
    }
    api.page_max = 2;
  }
  Result<> read() {
    return world.run(read_live<kube::Node>(api, [this](const kube::Decoded<kube::Node>& node) {
      seen.push_back(node.key.name);
      return seen.size() == seen_max ? fail(Outcome::invalid, "enough") : Result<>();
    }));
  }

  VirtualWorld world;
  kube::testing::FakeApi api{world.loop};
  std::vector<std::string> seen;
  std::size_t seen_max = 100;
};

TEST_F(live_list, is_read_to_its_last_page) {
  EXPECT_TRUE(read());
  EXPECT_EQ(seen, (std::vector<std::string>{"n0", "n1", "n2", "n3", "n4"}));
  EXPECT_EQ(api.calls(Verb::list, "nodes"), 3U);
}

TEST_F(live_list, fails_where_a_page_is_not_to_be_had) {
  api.inject({.verb = Verb::list, .error = {Outcome::busy, "429"}});
  EXPECT_EQ(read().outcome(), Outcome::busy);
  EXPECT_TRUE(seen.empty());
}

TEST_F(live_list, gives_what_cannot_be_read_as_well) {
  api.put(kube::Node::resource, R"({"metadata": {"name": "n9"}, "spec": {"taints": "none"}})");
  EXPECT_TRUE(read());
  EXPECT_EQ(seen.back(), "n9");
}

TEST_F(live_list, ends_where_its_reader_has_had_enough) {
  seen_max = 2;
  EXPECT_EQ(read().outcome(), Outcome::invalid);
  EXPECT_EQ(api.calls(Verb::list, "nodes"), 1U);
}

}  // namespace
}  // namespace isthmus::controllers
