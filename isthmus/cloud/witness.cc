#include "isthmus/cloud/witness_impl.h"

#include <algorithm>

#include <fmt/format.h>

#include "isthmus/base/duration.h"

namespace isthmus::cloud {
namespace {

// While somebody is suspected, the cloud's list is never older than this, and the kubelets are
// looked at as often, if no list waits for its control.
constexpr Duration kListEvery = std::chrono::seconds(30);
constexpr Duration kPulsesEvery = std::chrono::seconds(30);

// After a look at the kubelets that failed.
constexpr Duration kPulsesAgain = std::chrono::seconds(10);

// Ready Nodes that may vouch for a list: any one of them is enough, and some may be rebooting.
constexpr std::size_t kVouchersMax = 32;

void earliest(std::optional<Moment>& earliest, Moment moment) {
  earliest = std::min(earliest.value_or(moment), moment);
}

// Old enough for every part of the cloud to know it.
bool is_accountable(const Subject& subject, WallTime now) {
  return now - subject.created >= kControlAgeMin;
}

std::string without_consequences(std::string_view what) {
  return fmt::format("{}: no deletion follows from what it says for {}", what,
                     format_duration(kContradictionStop));
}

}  // namespace

std::string_view to_string(Lie lie) {
  switch (lie) {
    case Lie::heartbeat:
      return "heartbeat";
    case Lie::itself:
      return "itself";
    case Lie::mass_absence:
      return "mass_absence";
  }
  return "itself";
}

Witness::Witness(DeletionPolicy policy, std::string scheme, DeletionStop& stop)
    : policy_(policy), scheme_(std::move(scheme)), stop_(stop), budget_(policy), latches_(policy) {
  ISTHMUS_ASSERT(is_within_limits(policy_), "a deletion policy below its floors");
}

void Witness::put(Subject subject, Now now) {
  auto [place, is_new] = records_.try_emplace(subject.uid);
  Record& record = place->second;
  if (!is_new) census_.remove(record.subject);
  const bool is_other_machine = record.subject.provider_id != subject.provider_id;
  const bool was_announced = record.subject.announced;
  record.subject = std::move(subject);
  record.is_announced = record.subject.announced;
  record.subject.announced |= record.subject.is_confirmed_gone(now.wall);
  census_.add(record.subject);
  if (is_other_machine) {
    record.put_at = now.moment;
    acquit(record, now.wall);
    disputes_.forget(record.subject.uid);
    record.evidence = {};
    const Result<ProviderId> id = parse_provider_id(record.subject.provider_id);
    record.has_exact_id = id && id->scheme == scheme_;
    record.id_refused = false;
  }
  MachineEvidence& evidence = record.evidence;
  if (record.subject.ready) {
    evidence.not_ready_since.reset();
    evidence.live.reset();
    acquit(record, now.wall);
  } else if (!evidence.not_ready_since) {
    evidence.not_ready_since = now.moment;
  }
  if (record.subject.is_confirmed_gone(now.wall)) speaks_against(record, now.moment);
  count_withdrawn(record, was_announced, now.moment);
}

void Witness::forget(const std::string& uid) {
  const auto place = records_.find(uid);
  if (place == records_.end()) return;
  census_.remove(place->second.subject);
  drop_suspect(place->second);
  disputes_.forget(uid);
  records_.erase(place);
}

void Witness::heard_by_id(const std::string& uid, const Result<Instance>& answer, Moment sent,
                          Now now) {
  call_ended(answer.outcome(), now.moment);
  const auto place = records_.find(uid);
  if (place == records_.end() || !place->second.has_exact_id) return;
  Record& record = place->second;
  if (sent < record.put_at) return;
  record.asked_at = sent;
  if (answer.outcome() == Outcome::invalid) {
    // No machine of the cloud's can have such an id, so nothing follows from that none has; until
    // the cloud says something else.
    record.id_refused = true;
    disputes_.forget(uid);
    acquit(record, now.wall);
    review(now);
    return;
  }
  if (answer && to_string(answer->provider_id) != record.subject.provider_id) return;
  if (answer || answer.outcome() == Outcome::absent) record.id_refused = false;
  const Presence presence = answer                                ? answer->presence
                            : answer.outcome() == Outcome::absent ? Presence::absent
                                                                  : Presence::unknown;
  if (presence == Presence::present) {
    speaks_for(record, Source::by_id, sent, now);
  } else if (presence == Presence::absent) {
    disputes_.said_gone(uid, now.moment);
    if (!record.subject.ready) {
      record.evidence.says_gone(sent, now.moment, policy_.confirmation_spacing);
      speaks_against(record, now.moment);
    }
  } else if (answer && presence == Presence::unknown) {
    acquit(record, now.wall);
  }
  review(now);
}

// No confirmation, for it was not asked for when a confirmation was due. Where one answer is enough
// nothing follows from it at all.
bool Witness::heard_of(const ProviderId& id, Moment sent, Now now) {
  if (policy_.mode == DeletionMode::upstream) return false;
  const std::string provider_id = to_string(id);
  bool is_news = false;
  for (auto& [uid, record] : records_) {
    if (record.subject.provider_id != provider_id) continue;
    if (!record.has_exact_id || record.id_refused) continue;
    if (sent < record.put_at || disputes_.is_said_gone(uid)) continue;
    disputes_.said_gone(uid, now.moment);
    if (!record.subject.ready) speaks_against(record, now.moment);
    is_news = true;
  }
  return is_news;
}

void Witness::heard_list(const Listing<Instance>& listing, Moment started, Now now) {
  list_asked_at_ = started;
  call_ended(Outcome::ok, now.moment);
  PositiveControl::View view = compare(listing, started, now);
  if (listing.completeness == Completeness::complete) {
    common_.complete_list = started;
    control_.begin(std::move(view));
  } else {
    latches_.views_disagreed();
  }
  review(now);
}

void Witness::heard_no_list(const Error& error, Moment started, Moment now) {
  list_asked_at_ = started;
  call_ended(error.outcome, now);
  if (error.outcome != Outcome::cancelled) latches_.views_disagreed();
}

// What the list says of each subject. What it lacks counts only if it is complete.
PositiveControl::View Witness::compare(const Listing<Instance>& listing, Moment started, Now now) {
  std::map<std::string, Presence> said;
  for (const Instance& each : listing.items) {
    // Of two words for one machine the more alive one counts.
    Presence& word = said.try_emplace(to_string(each.provider_id), each.presence).first->second;
    if (each.presence == Presence::present || word == Presence::absent) word = each.presence;
  }
  PositiveControl::View view{.started = started, .ended = now.moment};
  for (auto& [uid, record] : records_) {
    if (!record.has_exact_id || record.put_at > started) continue;
    const auto place = said.find(record.subject.provider_id);
    if (place != said.end()) {
      record.id_refused = false;
      compare_with(record, place->second, now, view);
    } else if (listing.completeness == Completeness::complete && !record.id_refused) {
      compare_with(record, Presence::absent, now, view);
    }
  }
  return view;
}

void Witness::compare_with(Record& record, Presence said, Now now, PositiveControl::View& view) {
  const Subject& subject = record.subject;
  if (said == Presence::present) {
    speaks_for(record, Source::list, view.started, now);
    if (subject.ready && view.vouchers.size() < kVouchersMax) view.vouchers.insert(subject.uid);
  } else if (said == Presence::unknown) {
    acquit(record, now.wall);
  } else {
    record.evidence.lacked_by = view.started;
    view.lacking.insert(subject.uid);
    if (is_accountable(subject, now.wall)) view.accountable.insert(subject.uid);
    if (!subject.ready) speaks_against(record, now.moment);
  }
}

void Witness::heard_pulses(Moment as_of, const std::function<Pulse(const Subject&)>& pulse_of,
                           Now now) {
  common_.pulses_as_of = as_of;
  common_.pulses_error.clear();
  pulses_failed_at_.reset();
  for (auto& [uid, record] : records_) record.evidence.hear_pulse(pulse_of(record.subject));
  const auto find = [this](const std::string& uid) -> const Record* {
    const auto place = records_.find(uid);
    return place == records_.end() ? nullptr : &place->second;
  };
  take_up(control_.look(
              as_of,
              [&](const std::string& uid) {
                const Record* record = find(uid);
                return record ? record->evidence.pulse.renewed_after : std::nullopt;
              },
              [&](const std::string& uid) {
                const Record* record = find(uid);
                return record != nullptr && record->subject.ready;
              }),
          now.moment);
  review(now);
}

void Witness::heard_no_pulses(const Error& error, Moment now) {
  if (error.outcome == Outcome::cancelled) return;
  common_.pulses_error = error.message;
  pulses_failed_at_ = now;
  latches_.views_disagreed();
}

void Witness::take_up(PositiveControl::Findings findings, Moment now) {
  if (!findings.contradicting.empty()) {
    caught(std::move(findings.contradicting), now);
    return;
  }
  if (findings.unvouched) latches_.views_disagreed();
  if (!findings.verified) return;
  common_.verified_at = now;
  latches_.views_agreed(now);
  for (const std::string& uid : findings.verified->lacking) {
    const auto place = records_.find(uid);
    if (place != records_.end()) place->second.evidence.verified_by = findings.verified->started;
  }
}

void Witness::caught(std::vector<std::string> contradicting, Moment now) {
  std::string what = without_consequences(
      fmt::format("the cloud's list lacks machines of {} Nodes whose kubelets renew their Leases",
                  contradicting.size()));
  stop_believing(what, now);
  found_.push_back({Lie::heartbeat, std::move(contradicting), std::move(what)});
}

// A cloud that lies about one may have lied about all: everybody's count begins anew.
void Witness::stop_believing(const std::string& why, Moment now) {
  for (auto& [uid, record] : records_) record.evidence.doubt();
  common_.verified_at.reset();
  latches_.views_disagreed();
  stop_.stop_until(now + kContradictionStop, why);
}

void Witness::read_live(const std::string& uid, bool ready, Moment sent, Moment now) {
  const auto place = records_.find(uid);
  if (place != records_.end()) place->second.evidence.live = LiveRead{ready, sent, now - sent};
}

void Witness::doubt_everything() {
  for (auto& [uid, record] : records_) {
    record.evidence.doubt();
    record.id_refused = false;
  }
  disputes_.clear();
  common_.complete_list.reset();
  common_.verified_at.reset();
  control_.clear();
  latches_.views_disagreed();
}

void Witness::note_acknowledged(std::string_view id, bool acknowledged) {
  latches_.note_acknowledged(id, acknowledged, suspected_subjects());
}

// What was asked before the cloud said that it is gone takes nothing back: it was there then.
void Witness::speaks_for(Record& record, Source source, Moment asked, Now now) {
  const std::string& uid = record.subject.uid;
  const std::optional<Moment> gone_since =
      source == Source::by_id ? record.evidence.lacked_by : disputes_.said_gone_since(uid);
  const bool takes_back = gone_since && asked >= *gone_since;
  if (takes_back && disputes_.took_back(uid, now.moment)) took_back(record, now);
  if (source == Source::by_id) disputes_.settle(uid);
  record.evidence.seen = true;
  if (record.is_suspect) latches_.views_disagreed();
  acquit(record, now.wall);
}

// A cloud may well learn of a new machine in one place after the other: that is told, and stops
// nothing.
void Witness::took_back(const Record& record, Now now) {
  std::string what = fmt::format("the cloud says of {} both that it is gone and that it is there",
                                 record.subject.provider_id);
  if (is_accountable(record.subject, now.wall)) {
    what = without_consequences(what);
    stop_believing(what, now.moment);
  }
  found_.push_back({Lie::itself, {record.subject.uid}, std::move(what)});
}

void Witness::speaks_against(Record& record, Moment now) {
  if (record.is_suspect) return;
  record.is_suspect = true;
  suspects_.push_back(record.subject.uid);
  latches_.suspected(record.subject, now);
}

// Who is suspected and not announced any more counts from now on.
void Witness::count_withdrawn(Record& record, bool was_announced, Moment now) {
  if (!was_announced || record.subject.announced || !record.is_suspect) return;
  latches_.suspected(record.subject, now);
}

// Who is confirmed gone stays suspected, whatever the cloud says.
void Witness::acquit(Record& record, WallTime now) {
  record.evidence.acquit();
  if (!record.subject.is_confirmed_gone(now)) drop_suspect(record);
}

void Witness::drop_suspect(Record& record) {
  if (!record.is_suspect) return;
  record.is_suspect = false;
  std::erase(suspects_, record.subject.uid);
  latches_.forget(record.subject.uid);
}

void Witness::call_ended(Outcome outcome, Moment now) {
  if (outcome == Outcome::cancelled) return;
  // A question that is wrong says nothing of the health of who was asked.
  const bool is_answer =
      outcome == Outcome::ok || outcome == Outcome::absent || outcome == Outcome::invalid;
  calls_.push_back({now, !is_answer});
  while (now - calls_.front().at > kHealthWindow) calls_.pop_front();
}

// Somebody's word may have run out meanwhile; then only what the cloud says counts.
void Witness::review(Now now) {
  disputes_.expire(now.moment);
  for (const std::string& uid : std::vector(suspects_)) {
    Record& record = records_.at(uid);
    const bool is_confirmed_gone = record.subject.is_confirmed_gone(now.wall);
    const bool was_announced =
        std::exchange(record.subject.announced, record.is_announced || is_confirmed_gone);
    count_withdrawn(record, was_announced, now.moment);
    const bool is_accused =
        record.evidence.lacked_by || record.evidence.negatives > 0 || disputes_.is_said_gone(uid);
    const bool stays = is_accused && !record.subject.ready;
    if (!stays && !is_confirmed_gone) drop_suspect(record);
  }
  for (Fallen& each : latches_.review(suspected_subjects(), census_, now)) {
    if (each.kind == "last_ready") continue;  // Nobody is Ready: that is no lie.
    found_.push_back(
        {Lie::mass_absence, std::move(each.uids), fmt::format("{} ({})", each.why, each.id)});
  }
}

Inquiry Witness::inquiry(Moment now) const {
  Inquiry inquiry;
  const bool is_watched =
      !suspects_.empty() || !disputes_.open().empty() || !latches_.fallen().empty();
  if (!is_watched) return inquiry;
  inquiry.uids = to_confirm(now, inquiry.again);
  if (policy_.mode == DeletionMode::upstream) return inquiry;
  add_disputed(now, inquiry);

  const Duration list_every = std::min(policy_.confirmation_spacing, kListEvery);
  const Moment list_due = list_asked_at_ ? *list_asked_at_ + list_every : now;
  inquiry.list = now >= list_due;
  if (!inquiry.list) earliest(inquiry.again, list_due);

  Moment pulses_due = common_.pulses_as_of ? *common_.pulses_as_of + kPulsesEvery : now;
  if (const std::optional<Moment> look = control_.next_look()) {
    pulses_due = std::min(pulses_due, *look);
  }
  if (pulses_failed_at_) pulses_due = std::max(pulses_due, *pulses_failed_at_ + kPulsesAgain);
  inquiry.pulses = now >= pulses_due;
  if (!inquiry.pulses) earliest(inquiry.again, pulses_due);
  return inquiry;
}

std::vector<std::string> Witness::to_confirm(Moment now, std::optional<Moment>& again) const {
  std::vector<std::string> due;
  std::size_t confirmed = 0;
  for (const std::string& uid : suspects_) {
    const Record& record = records_.at(uid);
    if (!is_worth_confirming(record)) continue;
    if (++confirmed > kConfirmedAtOnce) break;
    const Moment due_at = due_by_id(record, now);
    if (now >= due_at) {
      due.push_back(uid);
    } else {
      earliest(again, due_at);
    }
  }
  return due;
}

// Asked as often, and also about those who cannot be deleted: it is the cloud that is in question.
// Of whom it says one thing, by id and by list, nothing is to be found out: they take no place.
void Witness::add_disputed(Moment now, Inquiry& inquiry) const {
  std::size_t asked = 0;
  for (const std::string& uid : disputes_.open()) {
    const Record& record = records_.at(uid);
    if (record.is_suspect && is_worth_confirming(record)) continue;  // Asked, when its turn comes.
    if (disputes_.is_said_gone(uid) && record.evidence.lacked_by) continue;
    if (++asked > kDisputedAtOnce) break;
    const Moment due_at = due_by_id(record, now);
    if (now < due_at) {
      earliest(inquiry.again, due_at);
    } else {
      inquiry.uids.push_back(uid);
    }
  }
}

Moment Witness::due_by_id(const Record& record, Moment now) const {
  return record.asked_at ? *record.asked_at + policy_.confirmation_spacing : now;
}

// Who cannot be deleted anyway need not be asked about; its latch opens by views.
bool Witness::is_worth_confirming(const Record& record) const {
  if (record.subject.is_protected || !record.has_exact_id || record.id_refused) return false;
  if (policy_.mode == DeletionMode::upstream) return true;
  return latches_.holding(record.subject, others_ready(census_, record.subject)).empty();
}

std::vector<const Subject*> Witness::suspected_subjects() const {
  std::vector<const Subject*> subjects;
  for (const std::string& uid : suspects_) subjects.push_back(&records_.at(uid).subject);
  return subjects;
}

bool Witness::is_suspect(const std::string& uid) const {
  const auto place = records_.find(uid);
  return place != records_.end() && place->second.is_suspect;
}

const Subject* Witness::find(const std::string& uid) const {
  const auto place = records_.find(uid);
  return place == records_.end() ? nullptr : &place->second.subject;
}

std::vector<const Subject*> Witness::refused() const {
  std::vector<const Subject*> subjects;
  for (const auto& [uid, record] : records_) {
    if (record.id_refused) subjects.push_back(&record.subject);
  }
  return subjects;
}

void Witness::begin_removal(const std::string& uid, Moment now) {
  const auto place = records_.find(uid);
  if (place != records_.end()) budget_.take(removal_of(place->second), now);
}

void Witness::deny_removal(const std::string& uid, Moment until) {
  budget_.give_back(uid);
  const auto place = records_.find(uid);
  if (place != records_.end()) place->second.denied_until = until;
}

std::string Witness::evidence_text(const std::string& uid, Moment now) const {
  const auto place = records_.find(uid);
  if (place == records_.end()) return "nothing is known of it";
  return describe(place->second.evidence, common_, now);
}

}  // namespace isthmus::cloud
