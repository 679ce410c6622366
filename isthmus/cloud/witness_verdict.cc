// The verdict of the witness: every condition, in order.
#include "isthmus/cloud/witness_impl.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "isthmus/base/duration.h"

namespace isthmus::cloud {
namespace {

// The live read, which belongs to the evidence, and is only made when nothing else is missing.
bool is_live_read_to_come(const Unmet& unmet) {
  return unmet.condition == Condition::live_read && !unmet.not_before;
}

}  // namespace

Verdict Witness::judge(const std::string& uid, const Surroundings& around, Now now) const {
  const auto place = records_.find(uid);
  if (place == records_.end() || !place->second.is_suspect) return {};
  const Record& record = place->second;

  Verdict verdict;
  verdict.unmet = missing(record, now);
  const bool gone = std::ranges::all_of(verdict.unmet, is_live_read_to_come);
  if (policy_.mode != DeletionMode::upstream) {
    judge_health(around, now.moment, verdict.unmet);
    judge_room(record, now, verdict.unmet);
  }
  if (around.lease_left < kLeaseLifeMin) {
    verdict.unmet.push_back(
        {Condition::lease_life, "our lease is about to run out",
         fmt::format("{} of it have to be left", format_duration(kLeaseLifeMin))});
  }
  judge_words(record, around, now.moment, verdict.unmet);
  if (verdict.unmet.size() > 1) std::erase_if(verdict.unmet, is_live_read_to_come);
  verdict.standing = verdict.unmet.empty()           ? Standing::deletable
                     : gone                          ? Standing::gone
                     : record.evidence.negatives > 1 ? Standing::confirming
                                                     : Standing::suspect;
  return verdict;
}

std::vector<Unmet> Witness::missing(const Record& record, Now now) const {
  const Subject& subject = record.subject;
  if (policy_.mode == DeletionMode::upstream) {
    return missing_answer(subject, record.evidence, scheme_, now);
  }
  Unmets missing = missing_evidence(subject, record.evidence, common_, scheme_, policy_, now);
  if (subject.is_confirmed_gone(now.wall)) {
    // Somebody's word stands for all of it but the id.
    std::erase_if(missing, [](const Unmet& each) { return each.condition != Condition::exact_id; });
  }
  return missing;
}

void Witness::judge_health(const Surroundings& around, Moment now, Unmets& unmet) const {
  const auto add = [&](std::string why, std::string release) {
    unmet.push_back({Condition::provider_health, std::move(why), std::move(release)});
  };
  // The oldest are only dropped when a call ends: here both counts are of the same window.
  const auto is_recent = [&](const Call& each) { return now - each.at <= kHealthWindow; };
  const auto recent = std::ranges::count_if(calls_, is_recent);
  const auto failed = std::ranges::count_if(
      calls_, [&](const Call& each) { return each.failed && is_recent(each); });
  if (!around.cloud_is_known) {
    add("the cloud is not the one that it was, or does not say", "it has to be the same account");
  } else if (!around.cloud_is_open) {
    add("the cloud limits us or does not answer", "it has to answer");
  } else if (failed * 100 >= recent * kErrorPercentMax && failed > 0) {
    add(fmt::format("{} of {} calls to the cloud failed within {}", failed, recent,
                    format_duration(kHealthWindow)),
        fmt::format("fewer than {} % may", kErrorPercentMax));
  } else if (!common_.complete_list || now - *common_.complete_list > kListAgeMax) {
    add("the last complete list of the cloud is too old",
        fmt::format("it may be {} old", format_duration(kListAgeMax)));
  }
}

// The stop is about what the cloud says; somebody's word is something else.
void Witness::judge_room(const Record& record, Now now, Unmets& unmet) const {
  const auto append = [&](Unmets more) { std::ranges::move(more, std::back_inserter(unmet)); };
  append(latches_.holding(record.subject, others_ready(census_, record.subject)));
  append(budget_.refusals(removal_of(record), population_without(record), now.moment));
  if (stop_.stopped(now.moment) && !record.subject.is_confirmed_gone(now.wall)) {
    unmet.push_back(
        {Condition::deletions_stopped, stop_.why(),
         fmt::format("over in {}", format_duration(std::chrono::ceil<std::chrono::seconds>(
                                       stop_.until() - now.moment))),
         stop_.until()});
  }
}

void Witness::judge_words(const Record& record, const Surroundings& around, Moment now,
                          Unmets& unmet) const {
  if (record.subject.is_protected) {
    unmet.push_back({Condition::is_protected, "an annotation protects the Node",
                     "somebody has to remove the annotation"});
  }
  if (policy_.mode == DeletionMode::observe) {
    unmet.push_back(
        {Condition::observe, "deletions are only observed", "a flag has to say otherwise"});
  }
  if (around.mutations_stopped) {
    unmet.push_back({Condition::mutations_stopped, "somebody has stopped all changes",
                     "somebody has to allow them again"});
  }
  if (record.denied_until && now < *record.denied_until) {
    unmet.push_back({Condition::delete_denied, "the cluster does not let us delete it",
                     "the role and every admission have to allow it", record.denied_until});
  }
}

Removal Witness::removal_of(const Record& record) const {
  const Subject& subject = record.subject;
  return {.uid = subject.uid,
          .zone = subject.zone,
          .control_plane = subject.control_plane,
          .announced = subject.announced,
          .slow = latches_.has_let_through(subject.uid)};
}

Population Witness::population_without(const Record& record) const {
  const Subject& subject = record.subject;
  return {.nodes = census_.nodes,
          .control_planes = census_.control_planes,
          .control_planes_ready =
              census_.control_planes_ready - (subject.control_plane && subject.ready ? 1 : 0)};
}

}  // namespace isthmus::cloud
