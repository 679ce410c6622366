#include "isthmus/controllers/node_deletion_news.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "isthmus/controllers/node_subject.h"
#include "isthmus/controllers/pauses.h"

namespace isthmus::controllers {
namespace {

// A condition that would pass by itself and does not: then people are told of it as well.
constexpr Duration kOverdue = std::chrono::minutes(5);

// A suspicion that comes back within this time is the same story; a cloud that flickers would
// otherwise tell it every half minute.
constexpr Duration kSameStory = std::chrono::minutes(10);

// Nodes that are told of contradictions: so many are enough to see what they are about.
constexpr std::size_t kToldOfLieMax = 10;

// Nodes that are told something at once. A thousand would only be dropped by the queue of events;
// the next times tell the others.
constexpr std::size_t kToldAtOnce = 200;

std::string sentence(const cloud::Verdict& verdict, const cloud::Unmet& leading) {
  const bool is_protected = leading.condition == cloud::Condition::is_protected;
  std::string text = fmt::format(
      "its machine seems to be gone, and it is kept ({}): {}; {}", to_string(leading.condition),
      is_protected ? fmt::format("the annotation {} protects it", kNodeProtectAnnotation)
                   : leading.why,
      leading.release);
  std::vector<std::string_view> others;
  for (const cloud::Unmet& each : verdict.unmet) {
    if (each.condition != leading.condition) others.push_back(to_string(each.condition));
  }
  if (!others.empty()) text += fmt::format(" (also missing: {})", fmt::join(others, ", "));
  return text;
}

}  // namespace

NodeDeletionNews::NodeDeletionNews(Duration no_id_after, Doors doors)
    : no_id_after_(no_id_after), doors_(doors), words_(doors.recorder) {}

void NodeDeletionNews::note(const kube::Node& node) {
  if (std::optional<std::string> wrong = complaint_about(node)) {
    words_.tell(kube::reference_to(node), {{true, "InvalidAnnotation", *std::move(wrong)}});
  } else {
    words_.forget(node.meta.key);
  }
  if (is_ready(node) || !node.provider_id.empty() || node.meta.deletion_time) {
    nameless_.erase(node.meta.uid);
  } else {
    nameless_.try_emplace(node.meta.uid, node.meta.key, doors_.clock.now());
  }
}

void NodeDeletionNews::forget(const kube::ObjectKey& key, const std::string& uid) {
  words_.forget(key);
  suspicions_.erase(uid);
  nameless_.erase(uid);
  refused_.erase(uid);
  lied_about_.erase(uid);
}

std::optional<Moment> NodeDeletionNews::due() const {
  std::optional<Moment> due;
  const auto consider = [&](Moment moment) { due = std::min(due.value_or(moment), moment); };
  for (const auto& [uid, each] : nameless_) consider(due_of(each));
  if (doors_.stop.stopped(doors_.clock.now())) consider(doors_.stop.until());
  return due;
}

std::vector<std::string> NodeDeletionNews::tell(const cloud::Surroundings& around) {
  tell_contradictions();
  look_at_breakers();
  tell_nameless();
  tell_refused();
  return tell_suspects(around);
}

NodeDeletionNews::NodePtr NodeDeletionNews::find(const std::string& uid) const {
  const cloud::Subject* subject = doors_.witness.find(uid);
  NodePtr node = subject == nullptr ? nullptr : doors_.nodes.find({"", subject->name});
  return node && node->meta.uid == uid ? node : nullptr;
}

void NodeDeletionNews::tell_contradictions() {
  const Moment now = doors_.clock.now();
  doors_.metrics.stopped.set(doors_.stop.stopped(now) ? 1 : 0);
  std::erase_if(lied_about_, [&](const auto& each) { return now - each.second > kSameStory; });
  for (const cloud::Contradiction& each : doors_.witness.take_contradictions()) {
    doors_.metrics.contradictions(each.lie).add();
    if (!tell_contradiction(each)) continue;
    doors_.log.warning(
        "the cloud contradicts what is known",
        {{"kind", to_string(each.lie)}, {"nodes", each.uids.size()}, {"what", each.what}});
  }
}

// Whether it is news. Of a mass the Nodes are told by what they are kept for.
bool NodeDeletionNews::tell_contradiction(const cloud::Contradiction& contradiction) {
  if (contradiction.lie == cloud::Lie::mass_absence) return true;
  const bool is_itself = contradiction.lie == cloud::Lie::itself;
  bool is_news = false;
  for (const std::string& uid : contradiction.uids) {
    const bool is_new = lied_about_.insert_or_assign(uid, doors_.clock.now()).second;
    is_news = is_news || is_new;
    const NodePtr node = is_new && lied_about_.size() <= kToldOfLieMax ? find(uid) : nullptr;
    if (!node) continue;
    doors_.recorder.warning(
        kube::reference_to(*node), is_itself ? "CloudContradictsItself" : "CloudContradictsCluster",
        is_itself ? contradiction.what
                  : fmt::format("its kubelet renews its Lease, and {}", contradiction.what));
  }
  return is_news;
}

void NodeDeletionNews::look_at_breakers() {
  std::map<std::string_view, std::size_t> engaged{{"cluster", 0}, {"zone", 0}, {"last_ready", 0}};
  std::set<std::string> fallen;
  for (const cloud::Fallen& each : doors_.witness.fallen()) {
    ++engaged[each.kind];
    fallen.insert(each.id);
    const bool acknowledged = doors_.safety.is_acknowledged(each.id, doors_.clock.wall_now());
    doors_.witness.note_acknowledged(each.id, acknowledged);
    if (acknowledged == acknowledged_.contains(each.id)) continue;
    if (acknowledged) {
      acknowledged_.insert(each.id);
    } else {
      acknowledged_.erase(each.id);
    }
    doors_.log.warning(acknowledged ? "a breaker is acknowledged: its batch goes, slowly"
                                    : "a breaker is not acknowledged any more",
                       {{"breaker", each.id}});
  }
  for (const auto& [kind, count] : engaged) {
    doors_.metrics.breakers(kind).set(static_cast<double>(count));
  }
  std::erase_if(acknowledged_, [&](const std::string& id) { return !fallen.contains(id); });
  tell_breakers(fallen);
}

void NodeDeletionNews::tell_breakers(const std::set<std::string>& fallen) {
  for (const cloud::Fallen& each : doors_.witness.fallen()) {
    if (fallen_.contains(each.id)) continue;
    doors_.log.warning("deletions of Nodes are held", {{"breaker", each.id}, {"why", each.why}});
  }
  for (const std::string& id : fallen_) {
    if (!fallen.contains(id)) doors_.log.info("deletions of Nodes go on", {{"breaker", id}});
  }
  fallen_ = fallen;
}

std::vector<std::string> NodeDeletionNews::tell_suspects(const cloud::Surroundings& around) {
  std::vector<std::string> may_go;
  std::map<cloud::Condition, std::size_t> withheld;
  std::size_t told = 0;
  const cloud::Now now{doors_.clock.now(), doors_.clock.wall_now()};
  for (const std::string& uid : doors_.witness.suspects()) {
    const cloud::Verdict verdict = doors_.witness.judge(uid, around, now);
    for (const cloud::Unmet& each : verdict.unmet) ++withheld[each.condition];
    if (verdict.is_ripe() || verdict.deletable()) may_go.push_back(uid);
    if (told < kToldAtOnce && tell_suspect(*doors_.witness.find(uid), verdict)) ++told;
  }
  for (const cloud::Condition each : cloud::all_conditions()) {
    doors_.metrics.withheld(each).set(static_cast<double>(withheld[each]));
  }
  std::erase_if(suspicions_, [&](const auto& each) {
    return !doors_.witness.is_suspect(each.first) && now.moment - each.second.last > kSameStory;
  });
  return may_go;
}

// Whether there was something to tell.
bool NodeDeletionNews::tell_suspect(const cloud::Subject& subject, const cloud::Verdict& verdict) {
  const NodePtr node = find(subject.uid);
  if (!node) return false;
  const Moment now = doors_.clock.now();
  const auto [place, is_new] = suspicions_.try_emplace(subject.uid, now);
  Suspicion& suspicion = place->second;
  suspicion.last = now;
  if (is_new) {
    const bool is_confirmed_gone = subject.is_confirmed_gone(doors_.clock.wall_now());
    doors_.recorder.normal(
        kube::reference_to(*node), "InstanceMissing",
        is_confirmed_gone
            ? fmt::format("{} says that its machine is gone", kNodeConfirmedGoneAnnotation)
            : fmt::format("the cloud says that {} is gone; this Node is deleted when that is "
                          "certain",
                          subject.provider_id));
  }
  const cloud::Unmet* leading = verdict.leading();
  if (leading == nullptr) return is_new;
  const bool is_overdue = now - suspicion.since >= kOverdue;
  if (passes_by_itself(leading->condition) && !is_overdue) return is_new;
  const auto [told, is_first] = suspicion.told.try_emplace(leading->condition, now);
  if (!is_first && now - told->second < kTellAgain) return is_new;
  told->second = now;
  doors_.recorder.warning(kube::reference_to(*node), "NodeDeletionWithheld",
                          sentence(verdict, *leading));
  doors_.log.warning("node deletion withheld",
                     {{"node", subject.name},
                      {"condition", to_string(leading->condition)},
                      {"all", describe(verdict)},
                      {"evidence", doors_.witness.evidence_text(subject.uid, now)}});
  return true;
}

void NodeDeletionNews::tell_nameless() {
  for (auto& [uid, each] : nameless_) {
    tell_unidentified(uid, each, "NodeWithoutProviderID",
                      "it is not Ready and has no providerID, so nobody knows which machine it is "
                      "and it is never deleted by us; if its machine is gone, delete it by hand");
  }
}

void NodeDeletionNews::tell_refused() {
  std::set<std::string> uids;
  for (const cloud::Subject* subject : doors_.witness.refused()) {
    if (subject->ready) continue;
    uids.insert(subject->uid);
    const kube::ObjectKey key{"", subject->name};
    Unidentified& each = refused_.try_emplace(subject->uid, key, doors_.clock.now()).first->second;
    tell_unidentified(
        subject->uid, each, "ProviderIDRefused",
        fmt::format("it is not Ready, and the cloud says that no machine can have the providerID "
                    "{}, so as long as it says so we do not delete the Node; if its machine is "
                    "gone, delete it by hand",
                    subject->provider_id));
  }
  std::erase_if(refused_, [&](const auto& each) { return !uids.contains(each.first); });
}

Moment NodeDeletionNews::due_of(const Unidentified& each) const {
  return each.told_at ? *each.told_at + kTellAgain : each.since + no_id_after_;
}

void NodeDeletionNews::tell_unidentified(const std::string& uid, Unidentified& each,
                                         std::string_view reason, std::string message) {
  const NodePtr node = doors_.nodes.find(each.key);
  if (doors_.clock.now() < due_of(each) || !node || node->meta.uid != uid) return;
  each.told_at = doors_.clock.now();
  doors_.recorder.warning(kube::reference_to(*node), std::string(reason), std::move(message));
}

}  // namespace isthmus::controllers
