#include "isthmus/controllers/explanation.h"

#include <gtest/gtest.h>

namespace isthmus::controllers {
namespace {

using State = Link::State;

const kube::ObjectKey kLease{"kube-system", "ccm"};
const WallTime kNow = *kube::parse_rfc3339("2026-01-01T00:01:00Z");

LeaseFacts held(std::string renew_time) {
  return {.key = kLease,
          .exists = true,
          .spec = {.holder = "a_1", .duration_seconds = 15, .renew_time = std::move(renew_time)},
          .looked_at = kNow};
}

Link manager(const Result<LeaseFacts>& lease) {
  Chain chain({});
  add_manager(chain, lease);
  return chain.take().links.at(0);
}

TEST(explanation, of_a_manager_that_is_alive_says_who_and_since_when) {
  EXPECT_EQ(manager(held("2026-01-01T00:00:58.000000Z")),
            (Link{"manager", State::ok, "a_1 holds kube-system/ccm and renewed it 2s ago"}));
  EXPECT_EQ(manager(held("2026-01-01T00:01:03Z")).evidence,
            "a_1 holds kube-system/ccm and renewed it 3s ahead of our clock");
}

TEST(explanation, of_a_manager_says_since_when_it_leads_and_that_it_may_be_another_one) {
  LeaseFacts lease = held("2026-01-01T00:00:58Z");
  lease.spec.acquire_time = "2025-12-31T09:00:00.000000Z";
  EXPECT_EQ(manager(lease).evidence,
            "a_1 holds kube-system/ccm since 2025-12-31T09:00:00Z and renewed it 2s ago");
  EXPECT_EQ(look_at_manager(lease),
            "the manager has not got to it: look at the log of a_1, and at the events below; if "
            "that is none of yours, another manager uses the same Lease name "
            "(--leader-elect-resource-name)");
  EXPECT_EQ(look_at_manager(fail(Outcome::denied, "no right")),
            "the manager has not got to it: look at its log, and at the events below");
}

TEST(explanation, of_what_could_not_be_looked_at_says_how_it_can_be) {
  Chain chain({});
  EXPECT_TRUE(chain.ok("object", "made"));
  EXPECT_TRUE(chain.not_asked("lease", Error{Outcome::denied, "no right"}));
  EXPECT_TRUE(chain.not_asked("machine", Error{Outcome::unsupported, "no cloud was named"}));
  EXPECT_TRUE(chain.not_asked("events", Error{Outcome::lost, "cut"}));
  const Explanation explanation = chain.take();
  EXPECT_EQ(explanation.links[1].next, "ask for that right, or somebody who has it");
  EXPECT_EQ(explanation.links[2].next,
            "name the cloud as the manager does: --cloud-provider and --cloud-config");
  EXPECT_EQ(explanation.links[3].next, "try again");
  EXPECT_EQ(way_to_ask(Outcome::unsupported, true),
            "this cloud cannot say it; if the manager has another one, name that: "
            "--cloud-provider and --cloud-config");
  EXPECT_EQ(unknown_links(explanation), (std::vector<std::string>{"lease", "machine", "events"}));
}

TEST(explanation, of_a_manager_that_is_silent_is_a_break_unless_its_lease_moves) {
  const Link silent = manager(held("2026-01-01T00:00:00Z"));
  EXPECT_EQ(silent.state, State::broken);
  EXPECT_EQ(silent.evidence, "a_1 holds kube-system/ccm and renewed it 1m0s ago");
  EXPECT_FALSE(silent.next.empty());
  EXPECT_EQ(manager(held("")).evidence, "a_1 holds kube-system/ccm and has never renewed it");
  LeaseFacts other_clock = held("2026-01-01T07:00:00Z");
  EXPECT_EQ(manager(other_clock).state, State::broken);
  other_clock.moved = true;
  EXPECT_EQ(manager(other_clock).state, State::ok);
}

TEST(explanation, without_a_manager_is_a_break) {
  EXPECT_EQ(manager(LeaseFacts{.key = kLease}).evidence,
            "there is no Lease kube-system/ccm: no manager has ever led here");
  LeaseFacts free = held("2026-01-01T00:00:59Z");
  free.spec.holder.clear();
  EXPECT_EQ(manager(free).evidence, "nobody holds the Lease kube-system/ccm");
}

TEST(explanation, of_a_cluster_in_which_all_changes_are_stopped_says_by_what) {
  const auto safety = [](const Result<SwitchFacts>& said) {
    Chain chain({});
    add_switch(chain, said);
    return chain.take().links.at(0);
  };
  EXPECT_EQ(safety(SwitchFacts{}), (Link{"switch", State::ok, "nobody has stopped all changes"}));
  const Link stopped = safety(SwitchFacts{.key = {"kube-system", "x"}, .stops_all = true});
  EXPECT_EQ(stopped.state, State::broken);
  EXPECT_EQ(stopped.evidence, "ConfigMap kube-system/x stops all changes (stop-all-mutations)");
  EXPECT_EQ(safety(fail(Outcome::denied, "no")).state, State::unknown);
}

TEST(explanation, names_the_right_that_is_missing_and_goes_on) {
  const Link link = manager(fail(Outcome::denied, "needs the right to get leases"));
  EXPECT_EQ(link, (Link{"manager", State::unknown, "denied: needs the right to get leases",
                        "ask for that right, or somebody who has it"}));
  EXPECT_EQ(manager(fail(Outcome::lost, "cut")).next, "try again");
}

TEST(explanation, is_told_to_programs_in_a_document_that_always_has_the_same_members) {
  Chain chain({.kind = "Service", .key = {"shop", "web"}});
  EXPECT_TRUE(chain.ok("object", "it is there"));
  EXPECT_FALSE(chain.broken("class", "of another", "ask them"));
  Explanation explanation = chain.take();
  explanation.events = {
      {.type = "Warning", .reason = "R", .message = "m", .last_time = "t", .count = 2}};
  EXPECT_TRUE(is_broken(explanation));
  EXPECT_EQ(
      encode(explanation),
      R"({"kind":"Explanation","object":{"kind":"Service","namespace":"shop","name":"web"},)"
      R"("broken":"class","links":[)"
      R"({"name":"object","state":"ok","evidence":"it is there","next":""},)"
      R"({"name":"class","state":"broken","evidence":"of another","next":"ask them"}],)"
      R"("events":[{"type":"Warning","reason":"R","message":"m","count":2,"lastTime":"t"}]})");
  EXPECT_FALSE(is_broken({}));
  EXPECT_EQ(encode({.kind = "Node", .key = {"", "n1"}}),
            R"({"kind":"Explanation","object":{"kind":"Node","namespace":"","name":"n1"},)"
            R"("broken":null,"links":[],"events":[]})");
}

}  // namespace
}  // namespace isthmus::controllers
