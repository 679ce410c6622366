#include "isthmus/cloud/machine_evidence.h"

#include <algorithm>

#include <fmt/format.h>

#include "isthmus/base/duration.h"
#include "isthmus/base/text.h"
#include "isthmus/cloud/model.h"

namespace isthmus::cloud {
namespace {

// The last answer against a machine may be older than the spacing by a slow call or two.
constexpr Duration kAnswerGrace = std::chrono::minutes(1);

// So old may the newest look at the kubelets be, and the control that verified a list: both come
// about every 15 to 30 s, while somebody is suspected.
constexpr Duration kPulseAgeMax = std::chrono::minutes(1);
constexpr Duration kControlAgeMax = std::chrono::minutes(2);

std::string in_words(Duration duration) {
  return format_duration(std::chrono::floor<std::chrono::seconds>(duration));
}

std::string unreadable(const CommonEvidence& common) {
  return "the kubelets' Leases cannot be read: " + common.pulses_error;
}

std::optional<Unmet> judge_id(const Subject& subject, const std::string& scheme) {
  const Result<ProviderId> id = parse_provider_id(subject.provider_id);
  if (id && id->scheme == scheme) return std::nullopt;
  return Unmet{Condition::exact_id,
               fmt::format("providerID {} is none of {}://", quoted(subject.provider_id), scheme),
               "only whoever manages it can know its machine"};
}

std::optional<Unmet> judge_negatives(const Subject& subject, const MachineEvidence& evidence,
                                     const DeletionPolicy& policy, Moment now) {
  const std::int64_t wanted = subject.control_plane
                                  ? std::max(policy.confirmations, kControlPlaneConfirmations)
                                  : policy.confirmations;
  const Duration absence = subject.control_plane
                               ? std::max(policy.min_absence, kControlPlaneAbsence)
                               : policy.min_absence;
  const std::string release =
      fmt::format("{} answers by id, {} apart, have to say so over {}", wanted,
                  in_words(policy.confirmation_spacing), in_words(absence));
  if (evidence.negatives == 0) {
    return Unmet{Condition::negatives, "the cloud has not said so of its id", release};
  }
  const Duration said_for = evidence.last_negative - evidence.first_negative;
  const bool is_fresh = now - evidence.last_negative <= policy.confirmation_spacing + kAnswerGrace;
  if (evidence.negatives >= wanted && said_for >= absence && is_fresh) return std::nullopt;
  return Unmet{Condition::negatives,
               fmt::format("the cloud has said so {} times over {}{}", evidence.negatives,
                           in_words(std::max(said_for, Duration::zero())),
                           is_fresh ? "" : ", and not lately"),
               release, evidence.first_negative + absence};
}

std::optional<Unmet> judge_list(const MachineEvidence& evidence, const CommonEvidence& common) {
  const std::string release =
      "a complete list, asked for after the first such answer, has to lack it";
  if (!common.complete_list) {
    return Unmet{Condition::complete_list, "the cloud has given no complete list", release};
  }
  if (!evidence.lacked_by || *evidence.lacked_by < *common.complete_list) {
    return Unmet{Condition::complete_list, "the newest complete list has it, or is older than it",
                 release};
  }
  if (evidence.negatives > 0 && *evidence.lacked_by >= evidence.first_negative) return std::nullopt;
  return Unmet{Condition::complete_list, "the list that lacks it is older than the first answer",
               release};
}

std::optional<Unmet> judge_control(const MachineEvidence& evidence, const CommonEvidence& common,
                                   Moment now) {
  const std::string release = fmt::format(
      "for {} after a list, none whom it lacks may be heard of, and a Ready Node whom it has must",
      in_words(kControlDelay + kControlWatch));
  const bool is_verified = evidence.verified_by && evidence.negatives > 0 &&
                           *evidence.verified_by >= evidence.first_negative;
  const bool is_fresh = common.verified_at && now - *common.verified_at <= kControlAgeMax;
  if (is_verified && is_fresh) return std::nullopt;
  std::string why = common.verified_at && !is_fresh ? "no list was verified lately"
                                                    : "no list that lacks it was verified yet";
  if (!common.pulses_error.empty()) why = unreadable(common);
  return Unmet{Condition::positive_control, std::move(why), release};
}

std::optional<Unmet> judge_heartbeat(const MachineEvidence& evidence, const CommonEvidence& common,
                                     const DeletionPolicy& policy, Moment now) {
  const std::string release =
      fmt::format("its kubelet has to be silent for {}", in_words(policy.heartbeat_silence));
  if (!common.pulses_as_of || now - *common.pulses_as_of > kPulseAgeMax) {
    return Unmet{
        Condition::heartbeat,
        common.pulses_error.empty() ? "the kubelets were not looked at lately" : unreadable(common),
        release};
  }
  // The last decision, on the Node read live, wants its kubelet looked at as lately.
  const bool is_read = evidence.live && now - evidence.live->sent <= kLiveReadAgeMax;
  if (is_read && *common.pulses_as_of < evidence.live->sent) {
    return Unmet{Condition::heartbeat, "its kubelet was not looked at since the Node was read live",
                 release};
  }
  if (!evidence.pulse.silent_since) {
    return Unmet{Condition::heartbeat, "nothing is known of its kubelet", release};
  }
  const Duration silence = *common.pulses_as_of - *evidence.pulse.silent_since;
  if (silence >= policy.heartbeat_silence) return std::nullopt;
  return Unmet{Condition::heartbeat,
               fmt::format("its kubelet has been silent for {}",
                           in_words(std::max(silence, Duration::zero()))),
               release, *evidence.pulse.silent_since + policy.heartbeat_silence};
}

std::optional<Unmet> judge_live_read(const Subject& subject, const MachineEvidence& evidence,
                                     Duration not_ready, Moment now) {
  const std::string release =
      fmt::format("it has to be not Ready for {}, read live", in_words(not_ready));
  if (subject.ready || !evidence.not_ready_since) {
    return Unmet{Condition::live_read, "the Node is Ready", release};
  }
  const Moment due = *evidence.not_ready_since + not_ready;
  if (now < due) {
    return Unmet{Condition::live_read,
                 fmt::format("the Node has been not Ready for {}",
                             in_words(now - *evidence.not_ready_since)),
                 release, due};
  }
  if (evidence.live && now - evidence.live->sent <= kLiveReadAgeMax) {
    if (!evidence.live->ready) return std::nullopt;
    return Unmet{Condition::live_read, "read live, the Node is Ready", release};
  }
  if (evidence.live && evidence.live->took > kLiveReadAgeMax) {
    return Unmet{Condition::live_read,
                 fmt::format("to read the Node live and then its kubelet's Lease took {}",
                             in_words(evidence.live->took)),
                 fmt::format("{} within {}", release, in_words(kLiveReadAgeMax))};
  }
  return Unmet{Condition::live_read, "the Node was not read live yet", release};
}

std::optional<Unmet> judge_age(const Subject& subject, const MachineEvidence& evidence,
                               const DeletionPolicy& policy, WallTime now) {
  Duration wanted = evidence.seen ? std::min(kMinAgeMin, policy.min_age) : policy.min_age;
  if (!subject.initialized) wanted = std::max(wanted, kUninitializedAgeMin);
  const Duration age = now - subject.created;
  if (age >= wanted) return std::nullopt;
  return Unmet{Condition::age,
               fmt::format("the Node is {} old{}", in_words(std::max(age, Duration::zero())),
                           subject.initialized ? "" : " and was never initialized"),
               fmt::format("it has to be {} old", in_words(wanted))};
}

void add(std::vector<Unmet>& all, std::optional<Unmet> one) {
  if (one) all.push_back(*std::move(one));
}

}  // namespace

void MachineEvidence::says_gone(Moment sent, Moment heard, Duration spacing) {
  if (negatives == 0) {
    negatives = 1;
    first_negative = heard;
    last_negative = heard;
  } else if (sent - last_negative >= spacing) {
    ++negatives;
    last_negative = sent;
  }
}

void MachineEvidence::doubt() {
  negatives = 0;
  verified_by.reset();
}

void MachineEvidence::acquit() {
  doubt();
  lacked_by.reset();
}

void MachineEvidence::hear_pulse(Pulse heard) {
  pulse = heard;
  if (negatives > 0 && heard.renewed_after && *heard.renewed_after >= first_negative) doubt();
}

std::vector<Unmet> missing_evidence(const Subject& subject, const MachineEvidence& evidence,
                                    const CommonEvidence& common, const std::string& scheme,
                                    const DeletionPolicy& policy, Now now) {
  std::vector<Unmet> missing;
  add(missing, judge_id(subject, scheme));
  add(missing, judge_negatives(subject, evidence, policy, now.moment));
  add(missing, judge_list(evidence, common));
  add(missing, judge_control(evidence, common, now.moment));
  add(missing, judge_heartbeat(evidence, common, policy, now.moment));
  add(missing, judge_live_read(subject, evidence, policy.not_ready, now.moment));
  add(missing, judge_age(subject, evidence, policy, now.wall));
  return missing;
}

std::vector<Unmet> missing_answer(const Subject& subject, const MachineEvidence& evidence,
                                  const std::string& scheme, Now now) {
  std::vector<Unmet> missing;
  add(missing, judge_id(subject, scheme));
  if (evidence.negatives == 0 || now.moment - evidence.last_negative > kAnswerGrace) {
    missing.push_back({Condition::negatives, "the cloud has not said so of its id lately",
                       "one answer by id has to say so"});
  }
  add(missing, judge_live_read(subject, evidence, Duration::zero(), now.moment));
  return missing;
}

std::string describe(const MachineEvidence& evidence, const CommonEvidence& common, Moment now) {
  const auto ago = [&](std::optional<Moment> moment) {
    return moment ? in_words(now - *moment) + " ago" : std::string("never");
  };
  const bool accused = evidence.negatives > 0;
  const std::optional<Moment> first =
      accused ? std::optional(evidence.first_negative) : std::nullopt;
  const std::optional<Moment> last = accused ? std::optional(evidence.last_negative) : std::nullopt;
  return fmt::format(
      "said to be gone {} times (first {}, last {}); lacked by the list asked for {}; verified for "
      "the list asked for {}; kubelet silent since {} (looked at {}); not Ready since {}; read "
      "live "
      "{}",
      evidence.negatives, ago(first), ago(last), ago(evidence.lacked_by), ago(evidence.verified_by),
      ago(evidence.pulse.silent_since), ago(common.pulses_as_of), ago(evidence.not_ready_since),
      ago(evidence.live ? std::optional(evidence.live->sent) : std::nullopt));
}

}  // namespace isthmus::cloud
