#include "isthmus/controllers/service_book.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace isthmus::controllers {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

cloud::LoadBalancerSpec web() {
  return {.name = "svc-a-b",
          .labels = {{"isthmus.dev/service-name", "web"}},
          .listeners = {{"http", cloud::Protocol::tcp, 80, 30080}},
          .target_set = "nodes-a",
          .health_check = cloud::LoadBalancerSpec::HealthCheck{.port = 10256}};
}

cloud::LoadBalancerState state(std::uint64_t revision, std::uint64_t generation = 1) {
  return {.name = "svc-a-b",
          .addresses = {parse_ip("192.0.2.1").value()},
          .settled = true,
          .generation = generation,
          .revision = revision};
}

TEST(fingerprint, tells_every_attribute_apart) {
  std::vector<cloud::LoadBalancerSpec> specs(16, web());
  specs[1].name = "svc-a-c";
  specs[2].labels["isthmus.dev/service-name"] = "other";
  specs[3].pool = "public";
  specs[4].requested_addresses = {parse_ip("192.0.2.1").value()};
  specs[5].families = {IpFamily::v6};
  specs[6].families = {IpFamily::v4, IpFamily::v6};
  specs[7].listeners[0].port = 81;
  specs[8].listeners[0].protocol = cloud::Protocol::udp;
  specs[9].listeners[0].target_port = 1;
  specs[10].target_set = "";
  specs[11].targets = {{.name = "node1", .addresses = {parse_ip("10.0.0.1").value()}}};
  specs[12].health_check->interval = 3s;
  specs[13].source_ranges = {parse_prefix("192.0.2.0/24").value()};
  specs[14].affinity = cloud::LoadBalancerSpec::Affinity::client_ip;
  specs[15].source_address = cloud::LoadBalancerSpec::SourceAddress::masquerade;
  std::set<std::string> prints;
  for (const cloud::LoadBalancerSpec& spec : specs) prints.insert(fingerprint(spec));
  EXPECT_EQ(prints.size(), specs.size());
}

TEST(fingerprint, passes_over_what_is_only_preferred) {
  cloud::LoadBalancerSpec spec = web();
  spec.preferred_addresses = {parse_ip("192.0.2.7").value()};
  EXPECT_EQ(fingerprint(spec), fingerprint(web()));
}

// D-S16: a thousand Nodes are a hash, and a wish is the same wish whatever the Nodes are.
TEST(fingerprint, of_a_thousand_targets_is_short_and_the_wish_is_apart) {
  cloud::LoadBalancerSpec spec = web();
  for (int i = 0; i < 1000; ++i) {
    spec.targets.push_back(
        {.name = std::to_string(i), .addresses = {parse_ip("10.0.0.1").value()}});
  }
  const std::string print = fingerprint(spec);
  EXPECT_LT(print.size(), 400u);
  EXPECT_EQ(wish_of(print), wish_of(fingerprint(web())));
  spec.targets[500].instance = cloud::ProviderId{"isthmus", "7"};
  EXPECT_NE(print, fingerprint(spec));
}

class ServiceBookTest : public ::testing::Test {
 protected:
  ServiceRecord& record() { return book.at("svc-a-b", {"default", "web"}, "uid"); }
  void ensure(std::uint64_t revision, std::uint64_t generation = 1) {
    book.ensured(record(), fingerprint(web()), state(revision, generation), now);
  }
  bool stands() { return ServiceBook::stands(record(), fingerprint(web())); }

  ServiceBook book;
  Moment now = Moment{} + 1h;
};

TEST_F(ServiceBookTest, what_was_ensured_stands_until_somebody_changes_it) {
  EXPECT_FALSE(stands());
  ensure(5);
  EXPECT_TRUE(stands());
  EXPECT_FALSE(book.heard(state(5)));
  EXPECT_TRUE(stands());
  EXPECT_TRUE(book.heard(state(6, 2)));
  EXPECT_FALSE(stands());
}

TEST_F(ServiceBookTest, says_which_service_a_load_balancer_is_for) {
  book.at("svc-a-b", {"default", "web"}, "uid");
  EXPECT_EQ(
      book.explained("192.0.2.1 is held by local/svc-a-b: ask for another, svc-a-bc or x"),
      "192.0.2.1 is held by local/svc-a-b (Service default/web): ask for another, svc-a-bc or x");
  EXPECT_EQ(book.explained("2 held (by a/svc-a-b, ü"),
            "2 held (by a/svc-a-b (Service default/web), ü");
  EXPECT_EQ(book.explained(""), "");
}

TEST_F(ServiceBookTest, older_news_are_passed_over) {
  ensure(5, 2);
  EXPECT_FALSE(book.heard(state(4, 1)));
  EXPECT_TRUE(stands());
}

TEST_F(ServiceBookTest, an_answer_that_comes_after_newer_news_does_not_undo_them) {
  record();
  book.heard(state(9, 3));
  ensure(5, 2);
  EXPECT_EQ(record().state->revision, 9u);
  EXPECT_FALSE(stands());
}

TEST_F(ServiceBookTest, what_is_gone_has_vanished_unless_we_asked_for_it) {
  ensure(5);
  EXPECT_TRUE(book.heard_gone("svc-a-b"));
  EXPECT_TRUE(record().vanished);
  EXPECT_FALSE(stands());
  EXPECT_FALSE(book.heard_gone("svc-a-b"));
  ensure(6);
  record().vanished = false;
  record().releasing = true;
  EXPECT_TRUE(book.heard_gone("svc-a-b"));
  EXPECT_FALSE(record().vanished);
}

TEST_F(ServiceBookTest, strangers_are_kept_apart_until_their_service_asks) {
  EXPECT_FALSE(book.heard(state(5)));
  EXPECT_EQ(book.strangers().size(), 1u);
  EXPECT_FALSE(book.empty());
  EXPECT_TRUE(record().adopted);
  EXPECT_EQ(record().state->revision, 5u);
  EXPECT_TRUE(book.strangers().empty());
  book.forget("svc-a-b");
  EXPECT_TRUE(book.empty());
}

TEST_F(ServiceBookTest, a_namesake_has_a_record_of_its_own) {
  record();
  book.at("svc-a-c", {"default", "web"}, "other");
  EXPECT_THAT(book.of({"default", "web"}), ElementsAre("svc-a-b", "svc-a-c"));
  book.forget("svc-a-b");
  EXPECT_THAT(book.of({"default", "web"}), ElementsAre("svc-a-c"));
}

TEST_F(ServiceBookTest, a_list_of_everything_says_what_is_gone) {
  ensure(5);
  book.heard({.name = "svc-a-x", .revision = 2});
  now += 2min;
  EXPECT_THAT(book.heard_everything({}, now, 1min), ElementsAre("svc-a-b"));
  EXPECT_TRUE(record().vanished);
  EXPECT_TRUE(book.strangers().empty());
}

TEST_F(ServiceBookTest, a_list_that_may_be_older_than_our_ensure_says_nothing_for_certain) {
  ensure(5);
  EXPECT_THAT(book.heard_everything({}, now, 1min), ElementsAre("svc-a-b"));
  EXPECT_FALSE(record().vanished);
  EXPECT_FALSE(stands());
}

TEST_F(ServiceBookTest, a_cloud_that_counts_from_an_earlier_number_is_asked_anew) {
  ensure(500, 3);
  EXPECT_THAT(book.heard_everything({state(7, 3)}, now, 1min), ElementsAre("svc-a-b"));
  EXPECT_FALSE(stands());
  EXPECT_TRUE(book.heard(state(8, 4)));
}

TEST_F(ServiceBookTest, a_list_that_repeats_what_is_known_is_no_news) {
  ensure(5);
  EXPECT_THAT(book.heard_everything({state(5)}, now, 1min), IsEmpty());
  EXPECT_TRUE(stands());
}

TEST_F(ServiceBookTest, what_its_service_left_behind_is_a_strangers) {
  ensure(5, 3);
  book.disown("svc-a-b");
  EXPECT_TRUE(book.all().empty());
  EXPECT_EQ(book.strangers().at("svc-a-b").generation, 3u);
  EXPECT_TRUE(record().adopted);
  record().state.reset();
  book.disown("svc-a-b");
  EXPECT_TRUE(book.empty());
}

class Contested : public ServiceBookTest {
 protected:
  // Somebody else changes what we ensured; whether it is put right.
  bool is_put_right(const cloud::LoadBalancerSpec& spec = web()) {
    const std::string print = fingerprint(spec);
    ++generation;
    book.heard(state(generation, generation));
    if (!ServiceBook::may_ensure(record(), print, now)) return false;
    ++generation;
    book.ensured(record(), print, state(generation, generation), now);
    record().announced = wish_of(print);
    return true;
  }
  std::uint64_t generation = 0;
};

TEST_F(Contested, is_put_right_twice_and_then_left_for_an_hour) {
  EXPECT_TRUE(is_put_right());  // Nothing of ours stood before it.
  EXPECT_TRUE(is_put_right());
  EXPECT_TRUE(is_put_right());
  EXPECT_FALSE(is_put_right());
  now += 59min;
  EXPECT_FALSE(is_put_right());
  now += 1min;
  EXPECT_TRUE(is_put_right());
  EXPECT_FALSE(is_put_right());
}

TEST_F(Contested, counts_a_change_once_however_often_it_cannot_be_put_right) {
  is_put_right();
  is_put_right();
  book.heard(state(generation + 1, generation + 1));
  const std::string print = fingerprint(web());
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(ServiceBook::may_ensure(record(), print, now));
}

TEST_F(Contested, begins_anew_with_another_wish) {
  for (int i = 0; i < 4; ++i) is_put_right();
  cloud::LoadBalancerSpec other = web();
  other.pool = "public";
  EXPECT_TRUE(is_put_right(other));
}

TEST_F(Contested, is_made_anew_where_it_is_going_or_gone) {
  for (int i = 0; i < 4; ++i) is_put_right();
  const std::string print = fingerprint(web());
  EXPECT_FALSE(ServiceBook::may_ensure(record(), print, now));
  record().state->is_leaving = true;
  EXPECT_TRUE(ServiceBook::may_ensure(record(), print, now));
  book.heard_gone("svc-a-b");
  EXPECT_TRUE(ServiceBook::may_ensure(record(), print, now));
}

}  // namespace
}  // namespace isthmus::controllers
