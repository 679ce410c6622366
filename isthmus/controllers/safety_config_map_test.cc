#include "isthmus/controllers/safety_config_map.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "isthmus/base/virtual_world.h"
#include "isthmus/kube/testing/fake_api.h"

namespace isthmus::controllers {
namespace {

using namespace std::chrono_literals;
using kube::testing::FakeApi;
using kube::testing::Verb;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const kube::ObjectKey kName{"kube-system", "isthmus-safety"};

TEST(safety_settings, nothing_said_is_nothing_stopped) {
  EXPECT_EQ(read_safety_settings({}), SafetySettings{});
  EXPECT_EQ(read_safety_settings({{"stop-all-mutations", "false"}}), SafetySettings{});
}

TEST(safety_settings, true_stops_whatever_space_is_around_it) {
  EXPECT_TRUE(read_safety_settings({{"stop-all-mutations", " true\n"}}).stop_all_mutations);
}

TEST(safety_settings, what_is_neither_true_nor_false_stops_and_is_told) {
  for (const char* word : {"", "yes", "True", "1", "falsch"}) {
    const SafetySettings settings = read_safety_settings({{"stop-all-mutations", word}});
    EXPECT_TRUE(settings.stop_all_mutations) << word;
    EXPECT_THAT(settings.mistakes, ElementsAre(HasSubstr("neither \"true\" nor \"false\"")));
  }
}

TEST(safety_settings, bytes_that_are_no_text_stop_and_are_told_as_one_line) {
  const std::string utf16("\xff\xfet\0r\0u\0e\0", 10);  // As some shells write a file.
  const SafetySettings settings = read_safety_settings({{"stop-all-mutations", utf16}});
  EXPECT_TRUE(settings.stop_all_mutations);
  EXPECT_THAT(settings.mistakes, ElementsAre(HasSubstr(R"(t\u0000r\u0000u\u0000e)")));
}

TEST(safety_settings, a_key_that_is_none_is_told_with_those_there_are) {
  const SafetySettings settings = read_safety_settings({{"stop-all-mutation", "true"}});
  EXPECT_FALSE(settings.stop_all_mutations);
  EXPECT_THAT(settings.mistakes, ElementsAre(HasSubstr("stop-all-mutations and acknowledge")));
}

TEST(safety_settings, acknowledges_one_breaker_for_each_line_and_the_latest_time_counts) {
  const SafetySettings settings = read_safety_settings(
      {{"acknowledge",
        "\nzone/a-7@2026-11-29T20:00:00Z\n  cluster-1@2026-11-29T21:00:00+01:00  \n"
        "zone/a-7@2026-11-29T20:30:00Z\nzone/a-7@2026-11-29T20:10:00Z\n"}});
  EXPECT_THAT(settings.mistakes, IsEmpty());
  ASSERT_EQ(settings.acknowledged.size(), 2U);
  EXPECT_EQ(rfc3339(settings.acknowledged.at("zone/a-7")), "2026-11-29T20:30:00Z");
  EXPECT_EQ(rfc3339(settings.acknowledged.at("cluster-1")), "2026-11-29T20:00:00Z");
}

TEST(safety_settings, a_line_that_is_wrong_is_told_by_its_number_and_the_others_count) {
  const SafetySettings settings =
      read_safety_settings({{"acknowledge",
                             "zone-1\nzone 2@2026-11-29T20:00:00Z\nzone-3@yesterday\n"
                             "@2026-11-29T20:00:00Z\nzone-5@2026-11-29T20:00:00Z"}});
  EXPECT_THAT(settings.mistakes,
              ElementsAre(HasSubstr("line 1: \"zone-1\" is not ID@TIME"), HasSubstr("line 2"),
                          HasSubstr("line 3: "), HasSubstr("line 4")));
  EXPECT_TRUE(settings.acknowledged.contains("zone-5"));
  EXPECT_EQ(settings.acknowledged.size(), 1U);
}

TEST(safety_settings, keeps_no_more_acknowledgements_than_anybody_types) {
  std::string text;
  for (int i = 0; i < 200; ++i) text += fmt::format("b{}@2026-11-29T20:00:00Z\n", i);
  const SafetySettings settings = read_safety_settings({{"acknowledge", text}});
  EXPECT_EQ(settings.acknowledged.size(), 100U);
  EXPECT_THAT(settings.mistakes, ElementsAre(HasSubstr("there may be 100")));
}

class Told final : public kube::Recorder {
 public:
  void record(kube::Note note) override { lines.push_back(note.reason + ": " + note.message); }
  std::vector<std::string> lines;
};

class SafetyConfigMapTest : public ::testing::Test {
 protected:
  void start() {
    scope.spawn(&kube::Watcher::run, &watcher);
    EXPECT_TRUE(world.run(safety.wait_until_known()));
  }
  void put(const std::string& data) {
    api.put(kube::ConfigMap::resource,
            R"({"metadata": {"namespace": "kube-system", "name": "isthmus-safety"}, "data": )" +
                data + "}");
  }
  void pass(Duration time) { world.advance(time); }
  Result<> write(Duration time = 1ms) {
    return world.run(gate.pass([](Duration duration) -> Task<Result<>> {
      CO_TRY(co_await sleep_for(duration));
      co_return Result<>{};
    }(time)));
  }

  VirtualWorld world;
  FakeApi api{world.loop};
  SeededRandom random{7};
  Metrics metrics;
  MemoryLogger log;
  Told told;
  WriteGate gate{metrics};
  kube::Store<kube::ConfigMap> store;
  kube::StoreSink<kube::ConfigMap> sink{store};
  kube::Watcher watcher{
      api, kube::ConfigMap::resource, sink, world.loop, random, metrics, log, {.only = kName}};
  ConfigMapSafetySwitch safety{kName, {store, watcher, gate, told, world.loop, metrics, log}};
  Scope scope{world.loop};
};

TEST_F(SafetyConfigMapTest, one_that_is_not_there_says_nothing) {
  api.put(kube::ConfigMap::resource,
          R"({"metadata": {"namespace": "kube-system", "name": "another"},
              "data": {"stop-all-mutations": "true"}})");
  start();
  EXPECT_FALSE(safety.mutations_stopped());
  EXPECT_TRUE(write());
}

TEST_F(SafetyConfigMapTest, nothing_is_written_before_it_was_looked_at) {
  EXPECT_TRUE(safety.mutations_stopped());
  EXPECT_EQ(write().outcome(), Outcome::cancelled);
  put(R"({"stop-all-mutations": "true"})");
  start();
  EXPECT_EQ(write().outcome(), Outcome::cancelled);
}

TEST_F(SafetyConfigMapTest, what_stands_under_binary_data_counts_as_under_data) {
  start();
  const auto put_binary = [this](const std::string& base64) {
    put(R"({}, "binaryData": {"stop-all-mutations": ")" + base64 + R"("})");
    pass(1ms);
  };
  put_binary("dHJ1ZQ==");  // true
  EXPECT_TRUE(safety.mutations_stopped());
  EXPECT_THAT(told.lines, ElementsAre(HasSubstr("MutationsStopped: ")));
  put_binary("ZmFsc2U=");  // false
  EXPECT_FALSE(safety.mutations_stopped());
  put_binary("//50AHIAdQBlAA==");  // true, in UTF-16
  EXPECT_TRUE(safety.mutations_stopped());
  EXPECT_THAT(told.lines.back(), HasSubstr("InvalidSafetySetting: stop-all-mutations: "));
}

TEST_F(SafetyConfigMapTest, stops_everything_at_once_and_lets_it_go_on_again) {
  start();
  put(R"({"stop-all-mutations": "true"})");
  pass(1ms);
  const Result<> refused = write();
  ASSERT_EQ(refused.outcome(), Outcome::cancelled);
  EXPECT_THAT(refused.error().message, HasSubstr("ConfigMap kube-system/isthmus-safety"));
  EXPECT_THAT(metrics.text(), HasSubstr("isthmus_mutations_stopped 1"));
  put(R"({"stop-all-mutations": "true", "acknowledge": ""})");
  pass(1ms);
  put(R"({"stop-all-mutations": "false"})");
  pass(1ms);
  EXPECT_TRUE(write());
  EXPECT_THAT(metrics.text(), HasSubstr("isthmus_mutations_stopped 0"));
  EXPECT_THAT(told.lines, ElementsAre(HasSubstr("MutationsStopped"), HasSubstr("MutationsResumed")))
      << "each once";
}

TEST_F(SafetyConfigMapTest, goes_on_when_the_config_map_is_deleted) {
  put(R"({"stop-all-mutations": "true"})");
  start();
  api.erase(kube::ConfigMap::resource, kName);
  pass(1ms);
  EXPECT_TRUE(write());
  EXPECT_THAT(told.lines,
              ElementsAre(HasSubstr("MutationsStopped"), HasSubstr("MutationsResumed")));
}

TEST_F(SafetyConfigMapTest, cuts_off_what_is_under_way) {
  start();
  Scope writing(world.loop);
  std::optional<Outcome> outcome;
  writing.spawn(
      [](Task<Result<>> call, std::optional<Outcome>& answer) -> Task<Result<>> {
        const Result<> result = co_await std::move(call);
        answer = result.outcome();
        co_return Result<>{};
      },
      gate.pass([]() -> Task<Result<>> {
        CO_TRY(co_await sleep_for(10s));
        co_return Result<>{};
      }()),
      std::ref(outcome));
  pass(1s);
  put(R"({"stop-all-mutations": "true"})");
  pass(1ms);
  EXPECT_EQ(outcome, Outcome::cancelled);
}

TEST_F(SafetyConfigMapTest, an_outage_of_the_api_server_leaves_what_was_said) {
  put(R"({"stop-all-mutations": "true"})");
  start();
  api.break_watches();
  api.inject({.verb = Verb::watch, .error = {Outcome::lost, "gone"}, .times = 100});
  pass(5min);
  EXPECT_TRUE(safety.mutations_stopped());
}

TEST_F(SafetyConfigMapTest, a_role_without_the_right_to_look_is_told_once_and_stops_nothing) {
  api.inject(
      {.verb = Verb::watch, .error = {Outcome::denied, "configmaps is forbidden"}, .times = 3});
  start();
  EXPECT_TRUE(write());
  EXPECT_TRUE(log.mentions("nobody can stop this manager"));
  put(R"({"stop-all-mutations": "true"})");
  pass(2min);
  EXPECT_TRUE(safety.mutations_stopped()) << "the right was given later";
}

TEST_F(SafetyConfigMapTest, one_that_cannot_be_read_stops) {
  put(R"({"stop-all-mutations": "false", "acknowledge": "b1@2026-01-01T00:00:00Z"})");
  start();
  put(R"({"stop-all-mutations": false})");
  pass(1ms);
  EXPECT_TRUE(safety.mutations_stopped());
  EXPECT_FALSE(safety.is_acknowledged("b1", world.loop.wall_now()));
}

TEST_F(SafetyConfigMapTest, tells_mistakes_on_the_config_map_once) {
  start();
  put(R"({"stop-all-mutations": "flase"})");
  pass(1ms);
  put(R"({"stop-all-mutations": "flase", "acknowledge": ""})");
  pass(1ms);
  EXPECT_THAT(told.lines, ElementsAre(HasSubstr("MutationsStopped"),
                                      HasSubstr("InvalidSafetySetting: stop-all-mutations")));
}

TEST_F(SafetyConfigMapTest, an_acknowledgement_counts_for_an_hour_and_for_its_breaker_alone) {
  start();
  const WallTime now = world.loop.wall_now();
  put(R"({"acknowledge": "zone-1@)" + rfc3339(now) + R"("})");
  pass(1ms);
  EXPECT_TRUE(safety.is_acknowledged("zone-1", now + 59min));
  EXPECT_FALSE(safety.is_acknowledged("zone-1", now + 61min));
  EXPECT_FALSE(safety.is_acknowledged("zone-2", now));
  EXPECT_TRUE(safety.is_acknowledged("zone-1", now - 50s)) << "the writer's clock is ahead";
}

TEST_F(SafetyConfigMapTest, an_acknowledgement_of_a_time_to_come_counts_for_nothing_and_is_told) {
  start();
  const WallTime now = world.loop.wall_now();
  put(R"({"acknowledge": "zone-1@)" + rfc3339(now + 30min) + R"("})");
  pass(1ms);
  EXPECT_FALSE(safety.is_acknowledged("zone-1", now));
  EXPECT_THAT(told.lines, ElementsAre(HasSubstr("lies ahead")));
}

}  // namespace
}  // namespace isthmus::controllers
