#include "isthmus/controllers/machine_rounds.h"

#include <algorithm>
#include <set>
#include <utility>

#include "isthmus/base/fan_out.h"

namespace isthmus::controllers {
namespace {

// A machine that stays what it is, is asked about this often, or every period if that is longer.
constexpr Duration kPauseMax = std::chrono::minutes(1);

// A list that somebody else has just asked for will do: it says when that was.
constexpr Duration kListShared = std::chrono::seconds(5);

// While a machine that is off waits for its kubelet's silence to be known.
constexpr Duration kLooksApart = std::chrono::seconds(20);
constexpr Duration kLookAgeMax = std::chrono::minutes(1);

// The operations as metrics call them: upstream's word, and one for what it has not.
constexpr std::string_view kById = "instance_exists";
constexpr std::string_view kByList = "list_instances";

std::string_view word_for(Outcome outcome) {
  switch (outcome) {
    case Outcome::ok:
      return "success";
    case Outcome::absent:
      return "instance_not_found";
    case Outcome::unsupported:
      return "not_implemented";
    case Outcome::cancelled:
      return "canceled";
    default:
      return "error";
  }
}

cloud::Pulse pulse_of(const HeartbeatList& kubelets, const std::string& node) {
  if (kubelets.unreadable.contains(node)) return {};
  if (const auto lease = kubelets.leases.find(node); lease != kubelets.leases.end()) {
    return {lease->second.silent_since, lease->second.renewed_after};
  }
  const auto gone = kubelets.vanished.find(node);
  return {gone == kubelets.vanished.end() ? kubelets.looking_since : gone->second, std::nullopt};
}

}  // namespace

MachineRounds::MachineRounds(MachineRoundsOptions options, Doors doors, cloud::Witness& witness)
    : options_(options), doors_(doors), witness_(witness) {
  for (const std::string_view operation : {kById, kByList}) {
    for (const Outcome outcome :
         {Outcome::ok, Outcome::absent, Outcome::unsupported, Outcome::cancelled, Outcome::lost}) {
      calls(operation, outcome).add(0);
    }
  }
}

void MachineRounds::watch(const std::string& uid, cloud::ProviderId id, Duration after) {
  Watched& watched = watched_[uid];
  if (watched.id != id) watched = {.id = std::move(id)};
  watched.next = doors_.loop.now() + after;
  watched.pause = options_.period;
}

void MachineRounds::unwatch(const std::string& uid) { watched_.erase(uid); }

void MachineRounds::want_silence(const std::string& uid, bool wanted) {
  const auto place = watched_.find(uid);
  if (place != watched_.end()) place->second.wants_silence = wanted;
}

std::optional<Moment> MachineRounds::due() const {
  const Moment now = doors_.loop.now();
  const cloud::Inquiry inquiry = witness_.inquiry(now);
  std::optional<Moment> due = inquiry.asks_nothing() ? inquiry.again : now;
  const bool are_many = count_due() > options_.singles_max;
  for (const auto& [uid, watched] : watched_) {
    Moment next = watched.next;
    // Many wait for their list; more that come meanwhile do not make it come sooner.
    if (are_many && listed_at_) {
      next = std::max(next, *listed_at_ + options_.period);
    }
    due = std::min(due.value_or(next), next);
  }
  if (const std::optional<Moment> look = kubelets_due()) {
    due = std::min(due.value_or(*look), *look);
  }
  return due;
}

Task<Result<>> MachineRounds::round() {
  if (wants_list()) CO_TRY(co_await ask_list());
  CO_TRY(co_await ask_singles());
  // What the answers have made somebody suspected of need not wait for the next round.
  if (witness_.inquiry(doors_.loop.now()).list) CO_TRY(co_await ask_list());
  CO_TRY(co_await ask_singles());
  const Moment now = doors_.loop.now();
  const bool looks = witness_.inquiry(now).pulses || kubelets_due().value_or(Moment::max()) <= now;
  if (looks) CO_TRY(co_await look_at_kubelets());
  co_return Result<>{};
}

std::size_t MachineRounds::count_due() const {
  const Moment now = doors_.loop.now();
  return static_cast<std::size_t>(
      std::ranges::count_if(watched_, [now](const auto& each) { return each.second.next <= now; }));
}

bool MachineRounds::wants_list() const {
  const Moment now = doors_.loop.now();
  if (witness_.inquiry(now).list) return true;
  const bool may = !listed_at_ || now - *listed_at_ >= options_.period;
  return may && count_due() > options_.singles_max;
}

// When a machine that is off waits for its kubelet's silence to be known; nullopt: none does.
std::optional<Moment> MachineRounds::kubelets_due() const {
  const bool is_wanted = std::ranges::any_of(watched_, [](const auto& each) {
    const Watched& watched = each.second;
    return watched.wants_silence && watched.report &&
           watched.report->power == cloud::Power::stopped;
  });
  if (!is_wanted) return std::nullopt;
  return looked_at_ ? *looked_at_ + kLooksApart : doors_.loop.now();
}

// Those who are due and few, and whom the witness wants to hear of.
std::vector<MachineRounds::Question> MachineRounds::singles() const {
  const Moment now = doors_.loop.now();
  std::set<std::string> uids;
  if (count_due() <= options_.singles_max) {
    for (const auto& [uid, watched] : watched_) {
      if (watched.next <= now) uids.insert(uid);
    }
  }
  for (std::string& uid : witness_.inquiry(now).uids) uids.insert(std::move(uid));
  std::vector<Question> questions;
  for (const std::string& uid : uids) {
    const cloud::Subject* subject = witness_.find(uid);
    if (subject == nullptr) continue;
    Result<cloud::ProviderId> id = cloud::parse_provider_id(subject->provider_id);
    if (id) questions.push_back({uid, *std::move(id)});
  }
  return questions;
}

Task<Result<>> MachineRounds::ask_list() {
  const Moment sent = doors_.loop.now();
  listed_at_ = sent;
  auto list = co_await doors_.lists.whole_list(kListShared);
  calls(kByList, list.outcome()).add();
  if (list.outcome() == Outcome::cancelled) co_return std::unexpected(list.error());
  for (auto& [uid, watched] : watched_) {
    if (watched.next <= sent) asked(watched);
  }
  if (!list) {
    witness_.heard_no_list(list.error(), sent, doors_.loop.now());
    co_return Result<>{};
  }
  std::map<cloud::ProviderId, const cloud::Instance*> by_id;
  for (const cloud::Instance& each : list->value->items) by_id.emplace(each.provider_id, &each);
  const bool is_complete = list->value->completeness == cloud::Completeness::complete;
  for (auto& [uid, watched] : watched_) {
    const auto place = by_id.find(watched.id);
    if (place != by_id.end()) {
      take_in(uid, watched, place->second, list->as_of);
    } else if (is_complete) {
      take_in(uid, watched, nullptr, list->as_of);
    }
  }
  witness_.heard_list(*list->value, list->as_of, now());
  co_return Result<>{};
}

Task<Result<>> MachineRounds::ask_singles() {
  const std::vector<Result<>> answers =
      co_await fan_out(singles(), options_.calls_at_once, &MachineRounds::ask_one, std::ref(*this));
  for (const Result<>& answer : answers) {
    if (answer.outcome() == Outcome::cancelled) co_return answer;
  }
  co_return Result<>{};
}

// Fails only as its scope does: what the cloud answers is evidence, or none.
Task<Result<>> MachineRounds::ask_one(Question question, MachineRounds& self) {
  const Moment sent = self.doors_.loop.now();
  const Result<cloud::Instance> answer = co_await self.doors_.instances.get(question.id);
  self.calls(kById, answer.outcome()).add();
  if (answer.outcome() == Outcome::cancelled) co_return std::unexpected(answer.error());
  if (const auto place = self.watched_.find(question.uid); place != self.watched_.end()) {
    self.asked(place->second);
    if (answer) self.take_in(question.uid, place->second, &*answer, sent);
    if (answer.outcome() == Outcome::absent) {
      self.take_in(question.uid, place->second, nullptr, sent);
    }
  }
  self.witness_.heard_by_id(question.uid, answer, sent, self.now());
  co_return Result<>{};
}

Task<Result<>> MachineRounds::look_at_kubelets() {
  looked_at_ = doors_.loop.now();
  Result<HeartbeatSnapshot> kubelets = co_await doors_.heartbeats.read(Duration::zero());
  if (kubelets.outcome() == Outcome::cancelled) co_return std::unexpected(kubelets.error());
  if (!kubelets) {
    witness_.heard_no_pulses(kubelets.error(), doors_.loop.now());
    co_return Result<>{};
  }
  // Of two looks under way at once, the older one's answer may come last.
  if (kubelets_ && (*kubelets)->as_of < kubelets_->as_of) co_return Result<>{};
  kubelets_ = *std::move(kubelets);
  const HeartbeatList& heard = *kubelets_;
  witness_.heard_pulses(
      heard.as_of, [&](const cloud::Subject& subject) { return pulse_of(heard, subject.name); },
      now());
  co_return Result<>{};
}

// The pause doubles; a report that says something new begins it anew.
void MachineRounds::asked(Watched& watched) {
  watched.next = doors_.loop.now() + watched.pause;
  watched.pause = std::min(2 * watched.pause, std::max(kPauseMax, options_.period));
}

void MachineRounds::take_in(const std::string& uid, Watched& watched,
                            const cloud::Instance* instance, Moment asked_at) {
  heard_.push_back(uid);
  MachineReport report{.presence = cloud::Presence::absent, .since = doors_.loop.now()};
  if (instance != nullptr) {
    report.presence = instance->presence;
    report.power = instance->power;
  }
  report.asked_at = asked_at;
  const bool is_news = !watched.report || watched.report->presence != report.presence ||
                       watched.report->power != report.power;
  if (!is_news) report.since = watched.report->since;
  const bool is_change = is_news && watched.report;
  watched.report = report;
  if (is_change) watched.pause = options_.period;
}

std::optional<MachineReport> MachineRounds::report(const std::string& uid) const {
  const auto place = watched_.find(uid);
  return place == watched_.end() ? std::nullopt : place->second.report;
}

std::optional<Duration> MachineRounds::silence(const std::string& node_name) const {
  if (!kubelets_ || doors_.loop.now() - kubelets_->as_of > kLookAgeMax) return std::nullopt;
  return kubelets_->silence(node_name);
}

Counter& MachineRounds::calls(std::string_view operation, Outcome outcome) {
  return doors_.metrics.counter(
      "cloud_node_lifecycle_controller_cloud_provider_calls_total",
      "Calls to the cloud by the node lifecycle controller.",
      {{"operation", std::string(operation)}, {"result", std::string(word_for(outcome))}});
}

cloud::Now MachineRounds::now() const { return {doors_.loop.now(), doors_.loop.wall_now()}; }

}  // namespace isthmus::controllers
