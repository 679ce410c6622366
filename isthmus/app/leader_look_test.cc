#include "isthmus/app/leader_look.h"

#include <gtest/gtest.h>

#include "isthmus/base/virtual_world.h"
#include "isthmus/kube/api/patch.h"
#include "isthmus/kube/testing/fake_api.h"

namespace isthmus::app {
namespace {

using namespace std::chrono_literals;
using kube::Lease;
using kube::testing::FakeApi;
using kube::testing::Verb;

const kube::ObjectKey kLease{"kube-system", "cloud-controller-manager"};

struct leader_look : testing::Test {
  leader_look() { scope.spawn(&LeaderLook::run, &look); }
  std::string last() {
    world.advance(6s);
    return log.lines.empty() ? "" : log.lines.back().text;
  }
  void hold(std::string holder) {
    api.put(Lease::resource, kube::lease_body(kLease, {.holder = std::move(holder)}));
  }

  VirtualWorld world;
  FakeApi api{world.loop};
  MemoryLogger log;
  LeaderLook look{api, kLease, log};
  Scope scope{world.loop};
};

TEST_F(leader_look, says_who_leads_whenever_that_changes) {
  constexpr std::string_view kSaid =
      R"("who leads" lease="kube-system/cloud-controller-manager" holder=)";
  EXPECT_EQ(last(), std::string(kSaid) + R"("nobody: there is no Lease")");
  hold("a");
  EXPECT_EQ(last(), std::string(kSaid) + R"("a")");
  hold("");
  EXPECT_EQ(last(), std::string(kSaid) + R"("nobody: the Lease is free")");
  world.advance(60s);
  EXPECT_EQ(log.lines.size(), 3U);
}

TEST_F(leader_look, says_that_it_may_not_look_and_looks_on) {
  api.inject({.verb = Verb::get, .error = {Outcome::denied, "forbidden"}, .times = 2});
  EXPECT_NE(last().find(R"(holder="unknown: denied: forbidden")"), std::string::npos);
  hold("b");
  world.advance(6s);
  EXPECT_TRUE(log.mentions(R"(holder="b")"));
}

TEST_F(leader_look, never_takes_the_lease) {
  world.advance(60s);
  EXPECT_EQ(api.calls(Verb::create) + api.calls(Verb::patch), 0U);
}

}  // namespace
}  // namespace isthmus::app
