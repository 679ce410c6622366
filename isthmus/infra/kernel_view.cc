#include "isthmus/infra/kernel_view.h"

#include <algorithm>
#include <charconv>
#include <iterator>

#include <fmt/format.h>

namespace isthmus::infra {

std::string encode(const KernelNote& note) {
  return fmt::format("{} {}", to_string(note.name), note.generation);
}

std::optional<KernelNote> parse_note(std::string_view text) {
  const std::size_t slash = text.find('/');
  const std::size_t space = text.find(' ');
  if (slash == std::string_view::npos || space == std::string_view::npos || slash > space) {
    return std::nullopt;
  }
  KernelNote note{.name = {std::string(text.substr(0, slash)),
                           std::string(text.substr(slash + 1, space - slash - 1))}};
  const std::string_view rest = text.substr(space + 1);
  auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), note.generation);
  const bool whole = end == rest.data() + rest.size() || *end == ' ';
  if (error != std::errc{} || !whole || note.name.owner.empty() || note.name.name.empty()) {
    return std::nullopt;
  }
  note.generation = std::min(note.generation, KernelNote::kGenerationMax);
  return note;
}

void KernelView::replace(drivers::Held held) {
  held_ = std::move(held);
  keys_.clear();
  for (const auto& [key, listener] : held_.listeners) enter(key);
}

std::optional<KernelNote> KernelView::note_of(const drivers::ListenerKey& key) const {
  auto found = held_.listeners.find(key);
  if (found == held_.listeners.end()) return std::nullopt;
  return parse_note(found->second.note);
}

const KernelView::Keys& KernelView::keys_of(const ObjectName& name) const {
  static const Keys kNone;
  auto found = keys_.find(name);
  return found == keys_.end() ? kNone : found->second;
}

std::set<IpAddress> KernelView::addresses_of(const ObjectName& name) const {
  std::set<IpAddress> addresses;
  for (const drivers::ListenerKey& key : keys_of(name)) addresses.insert(key.address);
  return addresses;
}

std::uint64_t KernelView::generation_of(const ObjectName& name) const {
  std::uint64_t highest = 0;
  for (const drivers::ListenerKey& key : keys_of(name)) {
    highest = std::max(highest, note_of(key)->generation);
  }
  return highest;
}

Result<> KernelView::apply(const drivers::Plan& plan, drivers::BalancerDriver& driver) {
  for (const drivers::ListenerChange& change : plan.listeners) leave(change.key);
  Result<> applied = driver.apply(plan, held_);
  for (const drivers::ListenerChange& change : plan.listeners) enter(change.key);
  return applied;
}

void KernelView::enter(const drivers::ListenerKey& key) {
  if (std::optional<KernelNote> note = note_of(key)) keys_[note->name].insert(key);
}

void KernelView::leave(const drivers::ListenerKey& key) {
  std::optional<KernelNote> note = note_of(key);
  if (!note) return;
  auto found = keys_.find(note->name);
  found->second.erase(key);
  if (found->second.empty()) keys_.erase(found);
}

bool KernelDrift::empty() const {
  return listeners.empty() && unguarded.empty() && guarded.empty() && !structure && !links;
}

KernelDrift compare(const drivers::Held& expected, const drivers::Held& found) {
  KernelDrift drift;
  for (const auto& [key, listener] : expected.listeners) {
    auto there = found.listeners.find(key);
    if (there == found.listeners.end()) {
      drift.listeners.push_back({key, listener, {}});
    } else if (there->second != listener) {
      drift.listeners.push_back({key, listener, there->second});
    }
  }
  for (const auto& [key, listener] : found.listeners) {
    if (!expected.listeners.contains(key)) drift.listeners.push_back({key, {}, listener});
  }
  std::ranges::set_difference(expected.guarded, found.guarded, std::back_inserter(drift.unguarded));
  std::ranges::set_difference(found.guarded, expected.guarded, std::back_inserter(drift.guarded));
  drift.structure = found.structure != expected.structure;
  drift.links = found.links != expected.links;
  return drift;
}

}  // namespace isthmus::infra
