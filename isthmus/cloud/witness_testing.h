// A cluster and its cloud for tests of the witness, told second by second: what is true, what the
// kubelets do, and what the cloud says, which need not be the same.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "isthmus/cloud/witness.h"

namespace isthmus::cloud::testing {

using namespace std::chrono_literals;

// One Node with its machine.
struct Member {
  Subject subject;
  bool exists = true;         // In truth.
  bool kubelet_runs = true;   // Then it renews every ten seconds.
  Moment silent_from{};       // When the kubelet stopped.
  std::string renewed = "0";  // The text of its Lease.

  // What a look at all kubelets knows of it.
  std::optional<std::string> seen = {};
  Pulse pulse = {};
};

struct Deleted {
  std::string name;
  Moment at;
};

class WitnessStage {
 public:
  explicit WitnessStage(DeletionPolicy policy = {}) : witness(policy, "isthmus", stop) {
    around.lease_left = 10s;
  }

  // Nodes that are an hour old, Ready, in zone a; "n0", "n1" …
  void add_members(int count, const std::string& zone = "a") {
    for (int i = 0; i < count; ++i) {
      const std::string name = fmt::format("n{}", made_++);
      add({.uid = "uid-" + name,
           .name = name,
           .provider_id = "isthmus://" + name,
           .zone = zone,
           .ready = true,
           .created = now.wall - 1h});
    }
  }
  void add(Subject subject) {
    witness.put(subject, now);
    members[subject.name].subject = std::move(subject);
  }
  Member& at(const std::string& name) { return members.at(name); }

  // The machine stops running: its kubelet falls silent, and after 40 s the Node is not Ready.
  void stop_kubelet(const std::string& name) {
    at(name).kubelet_runs = false;
    at(name).silent_from = now.moment;
  }
  void start_kubelet(const std::string& name) { at(name).kubelet_runs = true; }
  // The machine is gone for good.
  void destroy(const std::string& name) {
    at(name).exists = false;
    stop_kubelet(name);
  }
  void change(const std::string& name, const std::function<void(Subject&)>& edit) {
    edit(at(name).subject);
    witness.put(at(name).subject, now);
  }

  // What the cloud says. By default the truth.
  std::function<Result<Presence>(const Member&)> by_id = [](const Member& member) {
    return Result<Presence>(member.exists ? Presence::present : Presence::absent);
  };
  std::function<Presence(const Member&)> in_list = [](const Member& member) {
    return member.exists ? Presence::present : Presence::absent;
  };
  std::optional<Error> list_error = {};
  Completeness completeness = Completeness::complete;
  std::optional<Error> pulses_error = {};
  std::set<std::string> unreadable;  // Nodes whose Leases are.

  // Called once a second before anything is asked.
  std::function<void()> on_second = [] {};

  void pass(Duration time) {
    for (const Moment end = now.moment + time; now.moment < end;) {
      now.moment += 1s;
      now.wall += 1s;
      on_second();
      live();
      ask();
      act();
    }
  }

  void look_at_kubelets() {
    if (pulses_error) {
      witness.heard_no_pulses(*pulses_error, now.moment);
      return;
    }
    for (auto& [name, member] : members) {
      if (member.seen == member.renewed) continue;
      if (member.seen) member.pulse.renewed_after = looked_at_;
      member.seen = member.renewed;
      member.pulse.silent_since = now.moment;
    }
    looked_at_ = now.moment;
    witness.heard_pulses(
        now.moment,
        [&](const Subject& subject) {
          return unreadable.contains(subject.name) ? Pulse{} : members.at(subject.name).pulse;
        },
        now);
  }

  Verdict verdict(const std::string& name) const {
    return witness.judge(members.at(name).subject.uid, around, now);
  }
  bool is_deleted(const std::string& name) const { return !members.contains(name); }
  std::size_t found(Lie lie) const {
    return static_cast<std::size_t>(std::ranges::count(lies, lie, &Contradiction::lie));
  }

  Now now{Moment{} + 1h, WallTime{} + std::chrono::hours(24 * 365)};
  DeletionStop stop;
  Witness witness;
  Surroundings around;
  std::map<std::string, Member> members;
  std::vector<Deleted> deleted;
  std::vector<Contradiction> lies;
  std::optional<Moment> first_lie_found;
  std::size_t gets = 0;
  std::size_t lists = 0;
  bool deletes = true;     // Acts on a verdict.
  bool reads_live = true;  // Looks at the Node before it acts.
  Duration not_ready_after = 40s;

 private:
  // Kubelets renew, and the cluster notices who does not.
  void live() {
    const auto second =
        std::chrono::duration_cast<std::chrono::seconds>(now.moment.time_since_epoch());
    for (auto& [name, member] : members) {
      if (member.kubelet_runs && (second.count() + std::ssize(name)) % 10 == 0) {
        member.renewed = std::to_string(second.count());
      }
      const bool ready = member.kubelet_runs || now.moment - member.silent_from < not_ready_after;
      if (ready == member.subject.ready || stays_not_ready.contains(name)) continue;
      member.subject.ready = ready;
      witness.put(member.subject, now);
    }
  }

  Instance machine(const Member& member, Presence presence) const {
    const Result<ProviderId> id = parse_provider_id(member.subject.provider_id);
    return {.provider_id = id.value_or(ProviderId{}), .presence = presence};
  }

  void ask() {
    const Inquiry inquiry = witness.inquiry(now.moment);
    if (inquiry.list) ask_list();
    std::set<std::string> uids(inquiry.uids.begin(), inquiry.uids.end());
    const bool looks_around = (now.moment.time_since_epoch() / 1s) % 10 == 0;
    for (const auto& [name, member] : members) {
      const bool is_watched = looks_around && !member.subject.ready && is_present(member);
      if (is_watched || uids.contains(member.subject.uid)) ask_by_id(member);
    }
    if (witness.inquiry(now.moment).list) ask_list();
    if (witness.inquiry(now.moment).pulses) look_at_kubelets();
    for (Contradiction& each : witness.take_contradictions()) {
      if (!first_lie_found) first_lie_found = now.moment;
      lies.push_back(std::move(each));
    }
  }
  bool is_present(const Member& member) const {
    return witness.judge(member.subject.uid, around, now).standing == Standing::present;
  }
  void ask_by_id(const Member& member) {
    ++gets;
    const Result<Presence> said = by_id(member);
    Result<Instance> answer = std::unexpected(Error{Outcome::absent, "no such machine"});
    if (!said) answer = std::unexpected(said.error());
    if (said && *said != Presence::absent) answer = machine(member, *said);
    witness.heard_by_id(member.subject.uid, answer, now.moment, now);
  }
  void ask_list() {
    ++lists;
    if (list_error) {
      witness.heard_no_list(*list_error, now.moment, now.moment);
      return;
    }
    Listing<Instance> listing{.completeness = completeness};
    for (const auto& [name, member] : members) {
      const Presence said = in_list(member);
      if (said != Presence::absent) listing.items.push_back(machine(member, said));
    }
    witness.heard_list(listing, now.moment, now);
  }
  void act() {
    for (const std::string& uid : std::vector(witness.suspects())) {
      const std::string name = witness.find(uid)->name;
      const Verdict before = witness.judge(uid, around, now);
      if (reads_live && (before.is_ripe() || before.deletable())) {
        look_at_kubelets();
        witness.read_live(uid, members.at(name).subject.ready, now.moment, now.moment);
      }
      if (!deletes || !witness.judge(uid, around, now).deletable()) continue;
      witness.begin_removal(uid, now.moment);
      on_delete(members.at(name));
      deleted.push_back({name, now.moment});
      members.erase(name);
      witness.forget(uid);
    }
  }

  Moment looked_at_{};
  int made_ = 0;

 public:
  std::function<void(const Member&)> on_delete = [](const Member&) {};
  std::set<std::string> stays_not_ready;  // Whatever their kubelets do.
};

}  // namespace isthmus::cloud::testing
