#include "isthmus/infra/kernel_view.h"

#include <gtest/gtest.h>

#include "isthmus/infra/host_testing.h"

namespace isthmus::infra {
namespace {

using testing::ip;

const ObjectName kWeb{"prod", "web"};
const drivers::ListenerKey kHttp{ip("192.0.2.1"), drivers::Protocol::tcp, 80};
const drivers::ListenerKey kHttps{ip("192.0.2.2"), drivers::Protocol::tcp, 443};

drivers::HeldListener listener(std::string note) {
  drivers::HeldListener held;
  held.announced = true;
  held.note = std::move(note);
  return held;
}

TEST(kernel_note, is_read_as_it_was_written) {
  const KernelNote note{kWeb, KernelNote::kGenerationMax};
  EXPECT_EQ(encode(note), "prod/web 4503599627370496");
  EXPECT_EQ(parse_note(encode(note)), note);
}

TEST(kernel_note, of_other_hands_leaves_room_for_the_next_generations) {
  EXPECT_EQ(parse_note("prod/web 18446744073709551615"),
            (KernelNote{kWeb, KernelNote::kGenerationMax}));
}

TEST(kernel_note, passes_over_what_a_later_version_adds) {
  EXPECT_EQ(parse_note("prod/web 7 sha=abc"), (KernelNote{kWeb, 7}));
}

TEST(kernel_note, is_nothing_where_it_says_nobody) {
  for (const char* text : {"", "web 7", "prod/web", "prod/web x", "/web 7", "prod/ 7", "prod/web ",
                           "prod web/7", "prod/web 7x", "prod/web 99999999999999999999999"}) {
    EXPECT_EQ(parse_note(text), std::nullopt) << text;
  }
}

TEST(kernel_view, knows_what_is_whose) {
  drivers::Held held;
  held.listeners = {{kHttp, listener("prod/web 7")}, {kHttps, listener("prod/web 9")}};
  held.listeners[{ip("192.0.2.3"), drivers::Protocol::udp, 53}] = listener("something else");
  KernelView view;
  view.replace(held);
  EXPECT_EQ(view.keys_of(kWeb), (KernelView::Keys{kHttp, kHttps}));
  EXPECT_EQ(view.addresses_of(kWeb), (std::set<IpAddress>{ip("192.0.2.1"), ip("192.0.2.2")}));
  EXPECT_EQ(view.generation_of(kWeb), 9);
  EXPECT_EQ(view.all().size(), 1);
  EXPECT_EQ(view.generation_of({"prod", "mail"}), 0);
}

TEST(kernel_view, follows_what_a_driver_did_also_when_that_was_only_a_part) {
  testing::FakeKernel kernel;
  testing::FakeHost host(kernel);
  KernelView view;
  drivers::Plan plan;
  plan.guarded_added = {kHttp.address, kHttps.address};
  plan.listeners = {{kHttp, {}, listener("prod/web 1")}, {kHttps, {}, listener("prod/mail 1")}};
  host.die_after(3);
  EXPECT_FALSE(view.apply(plan, host.balancers()));
  EXPECT_EQ(view.keys_of(kWeb), KernelView::Keys{kHttp});
  EXPECT_TRUE(view.keys_of({"prod", "mail"}).empty());
}

TEST(kernel_drift, is_every_difference_in_both_directions) {
  drivers::Held expected;
  expected.structure = drivers::Structure::right;
  expected.listeners = {{kHttp, listener("prod/web 7")}};
  expected.guarded = {kHttp.address};
  EXPECT_TRUE(compare(expected, expected).empty());
  drivers::Held found = expected;
  found.listeners[kHttp].masquerade = true;
  found.listeners[kHttps] = listener("prod/web 7");
  found.guarded = {kHttps.address};
  found.structure = drivers::Structure::damaged;
  const KernelDrift drift = compare(expected, found);
  ASSERT_EQ(drift.listeners.size(), 2);
  EXPECT_EQ(drift.listeners[0].key, kHttp);
  EXPECT_EQ(drift.listeners[1].expected, drivers::HeldListener{});
  EXPECT_EQ(drift.unguarded, std::vector{kHttp.address});
  EXPECT_EQ(drift.guarded, std::vector{kHttps.address});
  EXPECT_TRUE(drift.structure);
  EXPECT_FALSE(drift.links);
}

}  // namespace
}  // namespace isthmus::infra
