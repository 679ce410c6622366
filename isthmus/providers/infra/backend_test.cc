// The provider against our own backend's handler: what the one says is what the other hears.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "isthmus/providers/infra/backend_testing.h"

namespace isthmus::providers::infra {
namespace {

using ::testing::ElementsAre;

class infra_backend : public testing::BackendFixture {
 protected:
  infra_backend() : BackendFixture("") { write("/token", "owner-token\n"); }

  // Lets the backend run until it has taken in the file.
  void load_inventory(std::string_view text) {
    write("/inventory", text);
    const std::size_t lines = log.lines.size();
    server->reload();
    EXPECT_EQ(world.run(with_timeout(std::chrono::seconds(5), server->run())).outcome(),
              Outcome::deadline);
    for (std::size_t i = lines; i < log.lines.size(); ++i) {
      EXPECT_LT(log.lines[i].level, Level::error) << log.lines[i].text;
    }
  }
  Result<cloud::Instance> get(std::string uid) {
    return world.run(machines().get({"isthmus", std::move(uid)}));
  }
  cloud::Instances& machines() { return *provider->capabilities().instances; }

  std::unique_ptr<InfraProvider> provider = provider_of("/token");
};

TEST_F(infra_backend, shakes_hands_with_the_provider) {
  const Result<> checked = world.run(provider->check());
  EXPECT_TRUE(checked) << checked.error().message;
}

TEST_F(infra_backend, tells_everything_that_an_inventory_line_says) {
  load_inventory(R"(instances:
- {uid: 7c9e, name: node1, addresses: [{type: InternalIP, address: 10.0.0.11}], type: r640,
   region: home, zone: rack-7, labels: {rack: "7"}, power: running, state: active,
   systemUUID: 00112233-4455-6677-8899-aabbccddeeff})");
  const Result<cloud::Instance> found = get("7c9e");
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(*found, (cloud::Instance{.provider_id = {"isthmus", "7c9e"},
                                     .names = {"node1"},
                                     .system_uuid = "00112233-4455-6677-8899-aabbccddeeff",
                                     .addresses = {{cloud::AddressType::internal_ip, "10.0.0.11"}},
                                     .type = "r640",
                                     .region = "home",
                                     .zone = "rack-7",
                                     .labels = {{"rack", "7"}},
                                     .power = cloud::Power::running,
                                     .presence = cloud::Presence::present}));
  const auto list = world.run(machines().list({}));
  ASSERT_TRUE(list) << list.error().message;
  EXPECT_THAT(list->items, ElementsAre(*found));
  EXPECT_EQ(list->completeness, cloud::Completeness::complete);
}

TEST_F(infra_backend, tells_gone_unknown_and_never_heard_of_apart) {
  load_inventory("instances: [{uid: a, name: n1}, {uid: b, name: n2}]");
  load_inventory("instances: [{uid: a, name: n1, state: retired}]");
  EXPECT_EQ(get("a").outcome(), Outcome::absent);
  EXPECT_EQ(get("b")->presence, cloud::Presence::unknown);
  EXPECT_EQ(get("b")->names, std::vector<std::string>{"n2"});
  EXPECT_EQ(get("c")->presence, cloud::Presence::unknown);
  EXPECT_TRUE(get("c")->names.empty());
}

TEST_F(infra_backend, lists_more_machines_than_fit_a_page) {
  std::string text = "instances:\n";
  for (int i = 0; i < 2500; ++i) text += fmt::format("- {{uid: m{0}, name: node{0}}}\n", i);
  load_inventory(text);
  const auto list = world.run(machines().list({}));
  ASSERT_TRUE(list) << list.error().message;
  EXPECT_EQ(list->items.size(), 2500U);
  EXPECT_EQ(list->completeness, cloud::Completeness::complete);
}

TEST_F(infra_backend, refuses_a_provider_with_a_wrong_token) {
  write("/token", "guess");
  EXPECT_EQ(world.run(provider->check()).outcome(), Outcome::denied);
  EXPECT_EQ(get("a").outcome(), Outcome::denied);
}

TEST_F(infra_backend, does_not_mistake_an_odd_id_for_another_path) {
  load_inventory("instances: [{uid: a, name: n1}]");
  for (const std::string odd : {"../instances", "a?x=1", "a/b", "%61", "a b"}) {
    const Result<cloud::Instance> found = get(odd);
    if (found) EXPECT_EQ(found->presence, cloud::Presence::unknown) << odd;
    EXPECT_NE(found.outcome(), Outcome::absent) << odd;
  }
}

}  // namespace
}  // namespace isthmus::providers::infra
