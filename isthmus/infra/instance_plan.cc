#include "isthmus/infra/instance_plan.h"

#include <fmt/format.h>

#include <functional>
#include <map>
#include <set>
#include <utility>

namespace isthmus::infra {
namespace {

using api::Instance;
using api::Presence;
using api::State;
namespace problem = api::problem;

InstancePlan refused(api::Problem why) {
  InstancePlan plan;
  plan.problem = std::move(why);
  return plan;
}

api::Problem retired_problem(const InstanceRecord& record, std::string_view suffix) {
  return api::make_problem(suffix, fmt::format("{} was retired on {}", record.instance.uid,
                                               rfc3339(record.instance.last_confirmed_at)));
}

std::optional<api::Problem> precondition_failure(const InstanceRecord* standing,
                                                 const Preconditions& preconditions) {
  bool there = standing != nullptr && !standing->is_retired();
  std::optional<Revision> revision;
  if (there) revision = standing->instance.revision;
  return infra::precondition_failure(preconditions, "machine", revision);
}

api::Problem in_file_problem(const InstanceRecord& record) {
  return api::make_problem(
      problem::managed_by_file,
      fmt::format("{} stands in the inventory file; change its line there (state: retired says "
                  "that it is gone)",
                  record.instance.uid));
}

bool is_ip(const api::Address& address) {
  return address.type == api::AddressType::internal_ip ||
         address.type == api::AddressType::external_ip;
}

// Calls with everything no second machine may have: where it stands in the body, what it is, and
// its value.
void each_claim(
    const Instance& instance,
    const std::function<void(std::string, std::string_view, const std::string&)>& claim) {
  claim("/metadata/name", "name", instance.name);
  if (!instance.system_uuid.empty()) claim("/spec/systemUUID", "systemUUID", instance.system_uuid);
  for (std::size_t i = 0; i < instance.addresses.size(); ++i) {
    const api::Address& address = instance.addresses[i];
    if (!is_ip(address)) continue;
    claim(fmt::format("/spec/addresses/{}/address", i), to_string(address.type), address.address);
  }
}

// Who holds what, among the machines that are present. One whose line vanished holds nothing: its
// name may have gone to its successor, and whoever asks is told of both.
class Holders {
 public:
  Holders(const InstanceSnapshot& snapshot,
          const std::function<bool(const InstanceRecord&)>& counts) {
    for (const auto& [uid, record] : snapshot.records) {
      if (record->instance.presence != Presence::present || !counts(*record)) continue;
      each_claim(record->instance,
                 [&](std::string, std::string_view what, const std::string& value) {
                   holders_.emplace(std::pair(what, value), uid);
                 });
    }
  }

  // Every claim of the machine that another one holds.
  std::vector<api::FieldError> conflicts(const Instance& instance) const {
    std::vector<api::FieldError> errors;
    each_claim(instance, [&](std::string pointer, std::string_view what, const std::string& value) {
      auto holder = holders_.find(std::pair(what, value));
      if (holder == holders_.end() || holder->second == instance.uid) return;
      errors.push_back({std::move(pointer),
                        fmt::format("{} {} is that of machine {}", what, value, holder->second)});
    });
    return errors;
  }

 private:
  std::map<std::pair<std::string_view, std::string>, std::string> holders_;
};

// What the writer said, apart from what was seen of the machine.
bool said_the_same(const Instance& left, const Instance& right) {
  return left.name == right.name && left.addresses == right.addresses && left.type == right.type &&
         left.region == right.region && left.zone == right.zone && left.labels == right.labels &&
         left.system_uuid == right.system_uuid && left.state == right.state;
}

// The record after `said` was said of what stands; nothing where that changes nothing.
std::optional<InstanceRecord> changed(const InstanceRecord* standing, const Instance& said,
                                      Source source, WallTime now) {
  InstanceRecord next{.instance = said, .source = source};
  bool retired = said.state == State::retired;
  next.instance.presence = retired ? Presence::absent : Presence::present;
  next.instance.last_confirmed_at = now;
  next.instance.generation = 1;
  if (standing == nullptr) return next;
  const Instance& old = standing->instance;
  bool same = said_the_same(old, said);
  next.instance.revision = old.revision;
  next.instance.generation = same ? old.generation : old.generation + 1;
  bool nothing_new = same && old.power == said.power && old.presence == next.instance.presence &&
                     standing->source == source;
  if (nothing_new) return std::nullopt;
  return next;
}

InstanceRecord retired(const InstanceRecord& standing, WallTime now) {
  InstanceRecord next = standing;
  next.source = Source::api;
  next.instance.state = State::retired;
  next.instance.presence = Presence::absent;
  next.instance.last_confirmed_at = now;
  ++next.instance.generation;
  return next;
}

// The line of a uid that is gone must not bring it back.
bool is_reused(const InstanceRecord& standing, const InventoryLine& line, YamlMistakes& mistakes) {
  if (!standing.is_retired()) return false;
  if (line.instance.state != State::retired) {
    mistakes.add(
        line.line,
        fmt::format("uid {} was retired on {} and never names a machine again: if this one is "
                    "there, give it a new uid; if it is gone, take the line out, or say state: "
                    "retired",
                    line.instance.uid, rfc3339(standing.instance.last_confirmed_at)));
  }
  return true;
}

}  // namespace

InstancePlan plan_put(const InstanceSnapshot& snapshot, const Instance& said,
                      const Preconditions& preconditions, WallTime now) {
  const InstanceRecord* standing = snapshot.find(said.uid);
  if (auto failure = precondition_failure(standing, preconditions)) return refused(*failure);
  if (standing != nullptr && standing->is_retired()) {
    return refused(retired_problem(*standing, problem::uid_retired));
  }
  if (standing != nullptr && standing->is_in_file()) return refused(in_file_problem(*standing));
  if (said.state == State::active) {
    Holders holders(snapshot, [](const InstanceRecord&) { return true; });
    std::vector<api::FieldError> conflicts = holders.conflicts(said);
    if (!conflicts.empty()) {
      api::Problem used =
          api::make_problem(problem::already_used, "another machine has what this one would have");
      used.errors = std::move(conflicts);
      return refused(std::move(used));
    }
  }
  InstancePlan plan;
  std::optional<InstanceRecord> next = changed(standing, said, Source::api, now);
  plan.created = standing == nullptr;
  plan.write = next.has_value();
  plan.record = next ? std::move(*next) : *standing;
  return plan;
}

InstancePlan plan_delete(const InstanceSnapshot& snapshot, const std::string& uid,
                         const Preconditions& preconditions, WallTime now) {
  const InstanceRecord* standing = snapshot.find(uid);
  if (standing == nullptr) {
    return refused(api::make_problem(problem::instance_not_found,
                                     fmt::format("{} was never known here", uid)));
  }
  if (standing->is_retired()) {
    return refused(retired_problem(*standing, problem::instance_retired));
  }
  if (auto failure = precondition_failure(standing, preconditions)) return refused(*failure);
  if (standing->is_in_file()) return refused(in_file_problem(*standing));
  InstancePlan plan;
  plan.record = retired(*standing, now);
  plan.write = true;
  return plan;
}

std::vector<InstanceRecord> plan_inventory(const InstanceSnapshot& snapshot,
                                           const std::vector<InventoryLine>& lines, WallTime now,
                                           WallTime vouched_until, YamlMistakes& mistakes) {
  std::vector<InstanceRecord> writes;
  std::set<std::string_view> named;
  for (const InventoryLine& line : lines) named.insert(line.instance.uid);
  // What the file itself says twice is found where it is parsed.
  Holders others(snapshot, [&](const InstanceRecord& record) {
    return record.source == Source::api && !named.contains(record.instance.uid);
  });
  for (const InventoryLine& line : lines) {
    const InstanceRecord* standing = snapshot.find(line.instance.uid);
    if (standing != nullptr && is_reused(*standing, line, mistakes)) continue;
    if (line.instance.state == State::active) {
      for (const api::FieldError& conflict : others.conflicts(line.instance)) {
        mistakes.add(line.line, conflict.detail + ", which was put through the API");
      }
    }
    auto next = changed(standing, line.instance, Source::file, now);
    if (next) writes.push_back(std::move(*next));
  }
  for (const auto& [uid, record] : snapshot.records) {
    if (!record->is_in_file() || named.contains(uid)) continue;
    InstanceRecord next = *record;
    next.instance.presence = Presence::unknown;
    if (vouched_until != WallTime{}) next.instance.last_confirmed_at = vouched_until;
    writes.push_back(std::move(next));
  }
  return writes;
}

}  // namespace isthmus::infra
