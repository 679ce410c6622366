#include "isthmus/controllers/service_book.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "isthmus/controllers/target_hash.h"

namespace isthmus::controllers {
namespace {

constexpr char kTargetsMark = '\n';  // Stands in no text before it: those are escaped.

// A text of others, so that no content can look like the end of it.
void add_text(std::string& print, std::string_view text) {
  fmt::format_to(std::back_inserter(print), "{}:", text.size());
  for (const char c : text) print += c == kTargetsMark ? ' ' : c;
  print += ';';
}

void add_check(std::string& print, const cloud::LoadBalancerSpec::HealthCheck& check) {
  fmt::format_to(std::back_inserter(print), "check {} {} {} {} {} {} ",
                 static_cast<int>(check.protocol), check.port, check.interval.count(),
                 check.timeout.count(), check.rise, check.fall);
  add_text(print, check.http_path);
}

// Whether people or the next run would do something else than with the state before.
bool is_news(const cloud::LoadBalancerState& before, const cloud::LoadBalancerState& after) {
  using Health = cloud::LoadBalancerState::Health;
  const bool nobody_before = before.health == Health::none;
  const bool nobody_after = after.health == Health::none;
  return before.addresses != after.addresses || (after.settled && !before.settled) ||
         before.is_leaving != after.is_leaving || before.must_be_passed != after.must_be_passed ||
         before.generation != after.generation || before.repairs != after.repairs ||
         before.problems != after.problems || before.facts != after.facts ||
         nobody_before != nobody_after;
}

bool is_older(const cloud::LoadBalancerState& state, const cloud::LoadBalancerState& than) {
  return state.revision != 0 && than.revision != 0 && state.revision < than.revision;
}

}  // namespace

std::string fingerprint(const cloud::LoadBalancerSpec& spec) {
  std::string print;
  print.reserve(256);
  add_text(print, spec.name);
  for (const auto& [key, value] : spec.labels) {
    add_text(print, key);
    add_text(print, value);
  }
  add_text(print, spec.pool);
  for (const IpAddress& address : spec.requested_addresses) add_text(print, to_string(address));
  for (const IpFamily family : spec.families) print += family == IpFamily::v4 ? " v4" : " v6";
  for (const auto& listener : spec.listeners) {
    fmt::format_to(std::back_inserter(print), " {} {}>{} ", static_cast<int>(listener.protocol),
                   listener.port, listener.target_port);
    add_text(print, listener.name);
  }
  if (spec.health_check) add_check(print, *spec.health_check);
  for (const IpPrefix& range : spec.source_ranges) {
    print += ' ';
    print += to_string(range);
  }
  fmt::format_to(std::back_inserter(print), " {} {} ", static_cast<int>(spec.affinity),
                 spec.source_address ? static_cast<int>(*spec.source_address) : -1);
  add_text(print, spec.target_set);
  print += kTargetsMark;
  if (!spec.targets.empty()) print += hash_of(spec.targets);
  return print;
}

std::string_view wish_of(std::string_view fingerprint) {
  return fingerprint.substr(0, fingerprint.find(kTargetsMark));
}

std::string explained(std::string_view message, const ServiceOfName& service_of) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz0123456789-";
  std::string text;
  while (!message.empty()) {
    const std::size_t begin = std::min(message.find_first_of(kLetters), message.size());
    const std::size_t end = std::min(message.find_first_not_of(kLetters, begin), message.size());
    const std::optional<kube::ObjectKey> service = service_of(message.substr(begin, end - begin));
    text += message.substr(0, end);
    if (service) text += fmt::format(" (Service {})", to_string(*service));
    message.remove_prefix(end);
  }
  return text;
}

ServiceRecord* ServiceBook::find(std::string_view name) {
  const auto found = records_.find(name);
  return found == records_.end() ? nullptr : &found->second;
}

ServiceRecord& ServiceBook::at(const std::string& name, const kube::ObjectKey& key,
                               const std::string& uid) {
  if (ServiceRecord* known = find(name)) return *known;
  ServiceRecord& record =
      records_.emplace(name, ServiceRecord{.name = name, .key = key, .uid = uid}).first->second;
  names_[key].insert(name);
  if (const auto stranger = strangers_.find(name); stranger != strangers_.end()) {
    record.adopted = true;
    record.existed = true;
    record.repairs_told = stranger->second.repairs;
    record.generation = stranger->second.generation;
    record.state = std::move(stranger->second);
    strangers_.erase(stranger);
  }
  return record;
}

void ServiceBook::forget(std::string_view name) {
  if (const auto stranger = strangers_.find(name); stranger != strangers_.end()) {
    strangers_.erase(stranger);
  }
  const auto found = records_.find(name);
  if (found == records_.end()) return;
  const auto names = names_.find(found->second.key);
  names->second.erase(found->first);
  if (names->second.empty()) names_.erase(names);
  records_.erase(found);
}

void ServiceBook::disown(std::string_view name) {
  ServiceRecord* record = find(name);
  if (record == nullptr) return;
  std::optional<cloud::LoadBalancerState> left = std::move(record->state);
  forget(name);
  if (left) heard(*left);
}

std::vector<std::string> ServiceBook::of(const kube::ObjectKey& key) const {
  const auto found = names_.find(key);
  if (found == names_.end()) return {};
  return {found->second.begin(), found->second.end()};
}

std::string ServiceBook::explained(std::string_view message) const {
  return controllers::explained(message, [this](std::string_view name) {
    const auto record = records_.find(name);
    return record == records_.end() ? std::nullopt : std::optional(record->second.key);
  });
}

void ServiceBook::ensured(ServiceRecord& record, std::string fingerprint,
                          cloud::LoadBalancerState state, Moment now) {
  record.fingerprint = std::move(fingerprint);
  record.ensured_at = now;
  record.asked_at = now;
  record.generation = state.generation;
  record.existed = true;
  record.releasing = false;
  record.deleting_told = false;
  if (!record.state || !is_older(state, *record.state)) record.state = std::move(state);
}

bool ServiceBook::heard(const cloud::LoadBalancerState& state) {
  if (ServiceRecord* record = find(state.name)) {
    if (record->state && is_older(state, *record->state)) return false;
    return take_in(*record, state);
  }
  strangers_.insert_or_assign(state.name, state);
  return false;
}

bool ServiceBook::take_in(ServiceRecord& record, const cloud::LoadBalancerState& state) {
  const bool was_asked_for = record.releasing && state.is_leaving;
  const bool news = !was_asked_for && (!record.state || is_news(*record.state, state));
  record.existed = true;
  record.state = state;
  return news;
}

bool ServiceBook::heard_gone(std::string_view name) {
  if (const auto stranger = strangers_.find(name); stranger != strangers_.end()) {
    strangers_.erase(stranger);
  }
  ServiceRecord* record = find(name);
  return record != nullptr && is_gone(*record);
}

bool ServiceBook::is_gone(ServiceRecord& record) {
  const bool was_there = record.state.has_value() || !record.fingerprint.empty();
  if (was_there && !record.releasing) record.vanished = true;
  record.state.reset();
  record.fingerprint.clear();
  return was_there || record.releasing;
}

// A list may have been read before our last ensure and arrive after its answer, and a cloud that
// was restored from a backup counts from an earlier number. Neither is told from the other here, so
// what contradicts is ensured again, which writes nothing where all is right.
std::vector<std::string> ServiceBook::heard_everything(
    const std::vector<cloud::LoadBalancerState>& states, Moment now, Duration fresh) {
  std::vector<std::string> concerned;
  std::set<std::string_view> there;
  strangers_.clear();
  for (const cloud::LoadBalancerState& state : states) {
    there.insert(state.name);
    ServiceRecord* record = find(state.name);
    if (record == nullptr) {
      strangers_.insert_or_assign(state.name, state);
      continue;
    }
    const bool contradicts = record->state && is_older(state, *record->state);
    if (contradicts) record->fingerprint.clear();
    if (take_in(*record, state) || contradicts) concerned.push_back(state.name);
  }
  for (auto& [name, record] : records_) {
    if (there.contains(name)) continue;
    const bool may_be_newer = !record.fingerprint.empty() && now < later(record.ensured_at, fresh);
    if (may_be_newer) {
      record.fingerprint.clear();
      concerned.push_back(name);
    } else if (is_gone(record)) {
      concerned.push_back(name);
    }
  }
  return concerned;
}

bool ServiceBook::stands(const ServiceRecord& record, std::string_view fingerprint) {
  return !record.fingerprint.empty() && record.fingerprint == fingerprint && record.state &&
         !record.state->is_leaving && !record.vanished && record.state->problems.empty() &&
         record.state->generation == record.generation;
}

// Its fingerprint goes when it is parked, so that the try after the hour does not count as a
// revert.
bool ServiceBook::may_ensure(ServiceRecord& record, std::string_view fingerprint, Moment now) {
  if (record.announced != wish_of(fingerprint)) record.dispute = {};
  const bool is_as_others_want =
      record.state && !record.state->is_leaving && record.state->generation > record.generation;
  if (!is_as_others_want) return true;
  if (record.dispute.is_parked(now)) return false;
  const bool was_ours = record.fingerprint == fingerprint;
  if (!was_ours || record.disputed == record.state->generation) return true;
  record.disputed = record.state->generation;
  if (record.dispute.may_redo(now)) return true;
  record.fingerprint.clear();
  return false;
}

}  // namespace isthmus::controllers
