#include "isthmus/kube/elector.h"

#include <gtest/gtest.h>

#include "isthmus/base/virtual_world.h"
#include "isthmus/kube/layers.h"
#include "isthmus/kube/testing/fake_api.h"

namespace isthmus::kube {
namespace {

using namespace std::chrono_literals;
using testing::FakeApi;
using testing::Verb;

const ObjectKey kLease{"kube-system", "cloud-controller-manager"};

class Notes final : public Recorder {
 public:
  void record(Note note) override { told.push_back(note.reason + ": " + note.message); }
  std::vector<std::string> told;
};

// One manager: an elector and what it does while it leads.
class Candidate final : public Leader {
 public:
  Candidate(VirtualWorld& world, ApiDoor& api, std::string identity, std::uint64_t seed)
      : loop_(world.loop),
        random_(seed),
        life(world.loop),
        elector(api, {.lease = kLease, .identity = identity}, life, world.loop, random_, notes,
                metrics_, log),
        outliving(world.loop),
        scope_(std::in_place, world.loop) {
    scope_->spawn(&Candidate::compete, this);
  }

  Task<Result<>> lead() override {
    led_from = loop_.now();
    Result<> stopped = co_await stop.wait();
    led_until = loop_.now();
    co_return stopped;
  }

  bool leads() const { return led_from && !led_until; }
  void cancel() { scope_->cancel(); }
  void crash() { scope_.reset(); }  // Where it stands, without a word.

  std::optional<Moment> led_from, led_until;
  std::optional<Result<>> ended;
  Signal stop;
  Notes notes;
  MemoryLogger log;

 private:
  Task<Result<>> compete() {
    Result<> answer = co_await elector.run(*this, Uncancellable(outliving));
    ended = answer;
    co_return Result<>{};
  }

  Loop& loop_;
  SeededRandom random_;
  Metrics metrics_;

 public:
  LeaseLife life;
  Elector elector;
  Scope outliving;

 private:
  std::optional<Scope> scope_;
};

class ElectorTest : public ::testing::Test {
 protected:
  Task<Result<>> pass(Duration time) {
    CO_TRY(co_await sleep_for(time));
    co_return Result<>{};
  }
  void run(Duration time) { EXPECT_TRUE(world.run(pass(time))); }
  std::string spec(std::string_view field) {
    const json::value lease = api.see(Lease::resource, kLease);
    if (lease.is_null()) return "(no lease)";
    const json::value& found = lease.at("spec").at(field);
    return found.is_string() ? std::string(found.as_string()) : compact_json(found);
  }
  void write_lease(std::string_view holder, int seconds, std::string_view more = "") {
    api.put(Lease::resource,
            R"({"metadata": {"namespace": "kube-system", "name": "cloud-controller-manager")" +
                std::string(more) + R"(}, "spec": {"holderIdentity": ")" + std::string(holder) +
                R"(", "leaseDurationSeconds": )" + std::to_string(seconds) +
                R"(, "acquireTime": "2020-01-01T00:00:00.000000Z", "leaseTransitions": 4,)" +
                R"( "renewTime": "2020-01-01T00:00:00.000000Z"}})");
  }

  VirtualWorld world;
  FakeApi api{world.loop};
};

TEST_F(ElectorTest, leads_at_once_where_there_is_no_lease_yet) {
  Candidate a(world, api, "a", 1);
  run(100ms);
  EXPECT_TRUE(a.leads());
  EXPECT_EQ(spec("holderIdentity"), "a");
  EXPECT_EQ(spec("leaseDurationSeconds"), "15");
  EXPECT_EQ(spec("leaseTransitions"), "0");
  EXPECT_EQ(a.notes.told, (std::vector<std::string>{"LeaderElection: a became leader"}));
}

TEST_F(ElectorTest, lets_one_of_three_lead_and_keeps_it_for_hours) {
  Candidate a(world, api, "a", 1), b(world, api, "b", 2), c(world, api, "c", 3);
  run(3h);
  EXPECT_EQ(a.leads() + b.leads() + c.leads(), 1);
  EXPECT_EQ(spec("leaseTransitions"), "0");
}

TEST_F(ElectorTest, takes_a_released_lease_the_moment_it_is_released) {
  Candidate a(world, api, "a", 1);
  run(1s);
  Candidate b(world, api, "b", 2);
  run(1min);
  a.stop.set();
  run(10ms);
  EXPECT_TRUE(b.leads());
  EXPECT_EQ(a.ended->outcome(), Outcome::ok);
  EXPECT_EQ(spec("leaseTransitions"), "1");
  EXPECT_EQ(a.notes.told.back(), "LeaderElection: a stopped leading");
}

TEST_F(ElectorTest, takes_over_from_a_crashed_leader_at_the_local_expiry) {
  Candidate a(world, api, "a", 1);
  run(1s);
  Candidate b(world, api, "b", 2);
  run(1min);
  a.crash();
  run(12s);
  EXPECT_FALSE(b.leads()) << "the crashed leader's lease still runs";
  run(4s);
  EXPECT_TRUE(b.leads());
}

TEST_F(ElectorTest, never_compares_clocks_of_different_machines) {
  write_lease("elsewhere", 20);  // Renewed in 2020, by its own words.
  Candidate b(world, api, "b", 2);
  run(19s);
  EXPECT_FALSE(b.leads());
  run(2s);
  EXPECT_TRUE(b.leads());
  EXPECT_EQ(spec("leaseTransitions"), "5");
}

TEST_F(ElectorTest, does_not_take_over_because_somebody_wrote_a_shorter_duration) {
  Candidate a(world, api, "a", 1);
  run(1s);
  Candidate b(world, api, "b", 2);
  run(1min);
  api.inject({.verb = Verb::patch, .hang = true});
  json::value lease = api.see(Lease::resource, kLease);
  lease.at("spec").as_object()["leaseDurationSeconds"] = 1;
  api.put(Lease::resource, compact_json(lease));
  run(4s);
  EXPECT_FALSE(b.leads());
  run(1min);
  EXPECT_TRUE(a.leads());
  EXPECT_EQ(spec("leaseDurationSeconds"), "15");
}

TEST_F(ElectorTest, ignores_jumps_of_the_wall_clock) {
  Candidate a(world, api, "a", 1);
  run(1s);
  Candidate b(world, api, "b", 2);
  run(10s);
  world.driver.set_wall(world.loop.wall_now() + 1h);
  run(1min);
  world.driver.set_wall(world.loop.wall_now() - 2h);
  run(1min);
  EXPECT_TRUE(a.leads());
  EXPECT_FALSE(b.leads());
}

TEST_F(ElectorTest, takes_back_its_own_lease_at_once) {
  write_lease("a", 3600);
  Candidate a(world, api, "a", 1);
  run(10ms);
  EXPECT_TRUE(a.leads());
  EXPECT_EQ(spec("leaseTransitions"), "4");
}

TEST_F(ElectorTest, stops_at_its_own_deadline_before_another_may_start) {
  Candidate a(world, api, "a", 1);
  run(1s);
  Candidate b(world, api, "b", 2);
  run(1min);
  // a's calls hang from now on; b's do not, but they share the server: only renewals are stopped.
  api.on_call = [&](Verb verb, const ObjectName&) {
    if (verb == Verb::patch && !b.leads() && a.leads()) {
      api.inject({.verb = Verb::patch, .hang = true});
    }
  };
  run(9s);
  EXPECT_TRUE(a.leads());
  run(3s);
  ASSERT_FALSE(a.leads());
  EXPECT_EQ(a.ended->outcome(), Outcome::lost);
  EXPECT_FALSE(b.leads());
  run(20s);
  ASSERT_TRUE(b.leads());
  EXPECT_GT(*b.led_from, *a.led_until + 3s);
}

TEST_F(ElectorTest, counts_its_life_from_when_the_renewal_was_sent) {
  Candidate a(world, api, "a", 1);
  run(1s);
  api.latency = 1500ms;
  run(10s);
  ASSERT_TRUE(a.leads());
  EXPECT_LE(a.life.until() - world.loop.now(), 8500ms);
}

TEST_F(ElectorTest, survives_a_renewal_whose_answer_was_lost) {
  Candidate a(world, api, "a", 1);
  run(1s);
  api.inject({.verb = Verb::patch,
              .error = {Outcome::lost, "connection reset"},
              .after_effect = true,
              .times = 2});
  run(1min);
  EXPECT_TRUE(a.leads());
  EXPECT_TRUE(api.calls(Verb::get) >= 2u);
}

TEST_F(ElectorTest, survives_errors_shorter_than_its_deadline) {
  Candidate a(world, api, "a", 1);
  run(1s);
  api.inject({.verb = Verb::patch, .error = {Outcome::busy, "503"}, .times = 3});
  run(1min);
  EXPECT_TRUE(a.leads());
}

TEST_F(ElectorTest, survives_others_editing_labels_of_the_lease) {
  Candidate a(world, api, "a", 1);
  run(1s);
  json::value lease = api.see(Lease::resource, kLease);
  lease.at("metadata").as_object()["labels"] = json::object{{"team", "x"}};
  api.put(Lease::resource, compact_json(lease));
  run(1min);
  EXPECT_TRUE(a.leads());
  EXPECT_EQ(api.see(Lease::resource, kLease).at("metadata").at("labels").at("team"), "x");
}

TEST_F(ElectorTest, keeps_fields_of_the_lease_that_it_does_not_know) {
  Candidate a(world, api, "a", 1), b(world, api, "b", 2);
  run(1s);
  json::value lease = api.see(Lease::resource, kLease);
  lease.at("spec").as_object()["strategy"] = "OldestEmulationVersion";
  api.put(Lease::resource, compact_json(lease));
  run(1min);
  ASSERT_TRUE(a.leads());
  EXPECT_EQ(spec("strategy"), "OldestEmulationVersion");
  a.stop.set();
  run(10s);
  ASSERT_TRUE(b.leads());
  EXPECT_EQ(spec("strategy"), "OldestEmulationVersion");
}

TEST_F(ElectorTest, gives_up_at_once_when_the_lease_is_deleted) {
  Candidate a(world, api, "a", 1);
  run(1s);
  api.erase(Lease::resource, kLease);
  run(3s);
  EXPECT_FALSE(a.leads());
  EXPECT_EQ(a.ended->outcome(), Outcome::lost);
}

TEST_F(ElectorTest, does_not_follow_a_deleted_lease_before_the_leader_it_saw_must_have_stopped) {
  Candidate a(world, api, "a", 1);
  run(1s);
  Candidate b(world, api, "b", 2);
  run(10s);
  api.inject({.verb = Verb::patch, .hang = true, .times = 100});  // a does not learn of it.
  api.erase(Lease::resource, kLease);
  run(9s);
  EXPECT_FALSE(b.leads());
  run(7s);
  EXPECT_TRUE(b.leads());
  EXPECT_LT(*a.led_until, *b.led_from);
}

TEST_F(ElectorTest, gives_up_at_once_when_another_holder_is_written_by_hand) {
  Candidate a(world, api, "a", 1);
  run(1s);
  write_lease("forged", 15);
  run(3s);
  EXPECT_FALSE(a.leads());
  EXPECT_EQ(spec("holderIdentity"), "forged") << "and does not release what is not its own";
}

TEST_F(ElectorTest, gives_up_when_its_own_name_is_written_by_hand_for_another_term) {
  Candidate a(world, api, "a", 1);
  run(1s);
  write_lease("a", 15);
  run(3s);
  EXPECT_FALSE(a.leads());
}

TEST_F(ElectorTest, says_why_it_could_not_renew) {
  Candidate a(world, api, "a", 1);
  run(1min);
  api.inject({.verb = Verb::patch, .error = {Outcome::denied, "Unauthorized"}, .times = 1000});
  run(20s);
  ASSERT_FALSE(a.leads());
  EXPECT_EQ(a.ended->error().message, "leadership lost: not renewed in time: Unauthorized");
}

TEST_F(ElectorTest, lets_nothing_be_sent_past_its_deadline_when_it_was_frozen) {
  Candidate a(world, api, "a", 1);
  Metrics metrics;
  WriteGate gate(metrics);
  gate.add_rule(LeaseLife::kRule, [&a] { return a.life.allows(); });
  GatedApi work(api, gate);
  run(1s);
  // The process is stopped for a minute: time jumps, and its work is the first to wake up.
  EXPECT_TRUE(a.life.holds());
  world.driver.wait(world.loop.now() + 1min);
  Result<std::string> sent = world.run(work.create({{Event::resource, {"x", "e"}}, "{}"}));
  EXPECT_EQ(sent.outcome(), Outcome::cancelled);
  EXPECT_EQ(api.calls(Verb::create, "events"), 0u);
  run(100ms);
  EXPECT_FALSE(a.leads());
}

TEST_F(ElectorTest, releases_even_when_it_is_cancelled_and_only_after_the_work_has_ended) {
  Candidate a(world, api, "a", 1);
  run(1s);
  a.cancel();
  run(100ms);
  EXPECT_FALSE(a.leads());
  EXPECT_EQ(spec("holderIdentity"), "");
  EXPECT_EQ(spec("leaseDurationSeconds"), "1");
  EXPECT_EQ(a.ended->outcome(), Outcome::cancelled);
}

TEST_F(ElectorTest, releases_a_lease_that_was_granted_in_the_moment_it_was_stopped) {
  Candidate a(world, api, "a", 1);
  run(1s);
  Candidate b(world, api, "b", 2);
  run(1min);
  api.latency = 100ms;
  api.on_call = [&](Verb verb, const ObjectName&) {
    if (verb == Verb::patch && spec("holderIdentity").empty()) b.cancel();
  };
  a.stop.set();
  run(5s);
  EXPECT_FALSE(b.leads());
  EXPECT_EQ(b.ended->outcome(), Outcome::cancelled);
  EXPECT_EQ(spec("holderIdentity"), "");
}

TEST_F(ElectorTest, releases_a_lease_whose_granting_it_was_not_told_of) {
  api.inject({.verb = Verb::create, .error = {Outcome::lost, "cut"}, .after_effect = true});
  Candidate a(world, api, "a", 1);
  run(1s);
  EXPECT_EQ(spec("holderIdentity"), "a");
  a.cancel();
  run(1s);
  EXPECT_EQ(spec("holderIdentity"), "");
}

TEST_F(ElectorTest, gives_up_releasing_after_a_while) {
  Candidate a(world, api, "a", 1);
  run(1s);
  api.inject({.verb = Verb::patch, .error = {Outcome::lost, "refused"}, .times = 1000});
  api.inject({.verb = Verb::get, .error = {Outcome::lost, "refused"}, .times = 1000});
  a.cancel();
  run(11s);
  EXPECT_TRUE(a.ended.has_value());
  EXPECT_TRUE(a.log.mentions("lease not released"));
}

TEST_F(ElectorTest, retries_a_release_that_met_another_writer) {
  Candidate a(world, api, "a", 1);
  run(1s);
  api.inject({.verb = Verb::patch, .error = {Outcome::conflict, "modified"}});
  a.cancel();
  run(1s);
  EXPECT_EQ(spec("holderIdentity"), "");
}

TEST_F(ElectorTest, polls_where_it_may_not_watch) {
  api.inject({.verb = Verb::watch, .error = {Outcome::denied, "forbidden"}, .times = 1000});
  Candidate a(world, api, "a", 1);
  run(1s);
  Candidate b(world, api, "b", 2);
  run(1min);
  EXPECT_EQ(api.calls(Verb::watch), 1u) << "once is enough to know";
  a.stop.set();
  run(5s);
  EXPECT_TRUE(b.leads());
}

TEST_F(ElectorTest, is_not_fooled_by_a_watch_that_went_silent) {
  Candidate a(world, api, "a", 1);
  run(1s);
  Candidate b(world, api, "b", 2);
  run(10s);
  api.frozen = true;
  run(10min);
  EXPECT_TRUE(a.leads());
  EXPECT_FALSE(b.leads()) << "its attempts meet the newer version";
}

TEST_F(ElectorTest, misses_no_release_while_its_watch_is_replaced) {
  Candidate a(world, api, "a", 1);
  run(1s);
  Candidate b(world, api, "b", 2);
  run(1min);
  api.end_watches();
  a.stop.set();
  run(10ms);
  EXPECT_TRUE(b.leads());
}

TEST_F(ElectorTest, takes_no_news_of_another_lease_for_its_own) {
  Candidate a(world, api, "a", 1);
  run(1s);
  Candidate b(world, api, "b", 2);
  run(1min);
  api.say(R"({"type": "MODIFIED", "object": {"apiVersion": "coordination.k8s.io/v1", )"
          R"("kind": "Lease", "metadata": {"namespace": "kube-system", "name": "other", )"
          R"("uid": "7", "resourceVersion": "9"}, "spec": {"holderIdentity": ""}}})");
  run(1ms);
  EXPECT_EQ(b.elector.holder(), "a");
}

TEST_F(ElectorTest, waits_a_random_time_after_a_failed_attempt_only) {
  api.inject({.verb = Verb::get, .error = {Outcome::busy, "503"}});
  Candidate a(world, api, "a", 1);
  run(1900ms);
  EXPECT_FALSE(a.leads());
  run(2600ms);
  EXPECT_TRUE(a.leads());
}

TEST_F(ElectorTest, does_not_hammer_a_server_whose_watches_end_at_once) {
  Candidate a(world, api, "a", 1);
  run(1s);
  api.on_call = [this](Verb verb, const ObjectName&) {
    if (verb == Verb::watch) api.inject({.verb = Verb::watch, .error = {Outcome::lost, "no"}});
  };
  Candidate b(world, api, "b", 2);
  run(10min);
  EXPECT_LE(api.calls(Verb::watch), 310u);
  EXPECT_FALSE(b.leads());
}

TEST(elector_options, are_checked_all_at_once) {
  ElectorOptions options{.lease = kLease, .identity = ""};
  options.renew_deadline = 15s;
  options.retry_period = 13s;
  const Result<> checked = check(options);
  ASSERT_EQ(checked.outcome(), Outcome::invalid);
  const std::string& text = checked.error().message;
  EXPECT_NE(text.find("lease-duration: must be longer than"), text.npos) << text;
  EXPECT_NE(text.find("renew-deadline: must be longer than 1.2 times"), text.npos) << text;
  EXPECT_NE(text.find("identity"), text.npos) << text;
}

TEST(elector_options, that_no_lease_can_hold_are_refused) {
  ElectorOptions options{.lease = kLease, .identity = "a"};
  options.lease_duration = std::chrono::seconds(2'147'483'647);
  EXPECT_TRUE(check(options));
  options.lease_duration += 1s;
  EXPECT_EQ(check(options).outcome(), Outcome::invalid);
  options.retry_period = Duration::max();
  EXPECT_EQ(check(options).outcome(), Outcome::invalid);
}

TEST(elector_options, may_miss_the_room_for_a_retry_by_nothing_and_no_less) {
  ElectorOptions options{.lease = kLease, .identity = "a"};
  options.retry_period = 10s;
  options.renew_deadline = 12s;
  EXPECT_EQ(check(options).outcome(), Outcome::invalid);
  options.renew_deadline += 1ns;
  EXPECT_TRUE(check(options));
}

TEST(elector_options, hold_upstreams_defaults) {
  EXPECT_TRUE(check({.lease = kLease, .identity = "a"}));
}

}  // namespace
}  // namespace isthmus::kube
