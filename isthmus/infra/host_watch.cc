#include "isthmus/infra/host_watch.h"

#include <utility>

#include <fmt/format.h>

namespace isthmus::infra {
namespace {

std::string_view rest_of(const drivers::HeldListener& found) {
  return found == drivers::HeldListener{} ? "was gone" : "was changed";
}

}  // namespace

Result<> HostWatch::start() {
  Result<> seen = doors_.rules.look();
  if (seen.outcome() == Outcome::conflict) {
    trouble_ = Trouble{reason::foreign_table, seen.error().message};
    doors_.log.error("rules cannot be loaded", {{"error", seen.error()}});
  } else if (!seen) {
    return fail("reading the rules of this host", std::move(seen).error());
  }
  Result<AddressKeeper::Sight> present = doors_.addresses.look();
  if (!present) return fail("reading the addresses of this host", std::move(present).error());
  const KernelView& kernel = doors_.rules.kernel();
  for (const auto& [name, keys] : kernel.all()) {
    doors_.book.enter(name).held_at_start = true;
    doors_.book.use(name, kernel.addresses_of(name));
    (void)doors_.book.claim(name, keys);
  }
  for (const auto& [key, listener] : kernel.held().listeners) {
    if (!kernel.note_of(key)) leftovers.restored[key] = {};
  }
  find_bare_addresses();
  return {};
}

HostWatch::Names HostWatch::look_at_rules(const Names& staying) {
  Sight sight{staying, {}};
  const Result<> seen = doors_.rules.look();
  const bool was_told = std::exchange(rules_not_seen_, !seen);
  std::optional<Trouble> trouble;
  bool knows = seen.has_value();
  if (!seen) {
    if (!was_told) doors_.log.error("rules of this host not read", {{"error", seen.error()}});
    trouble = trouble_of(seen.error());
    if (seen.outcome() == Outcome::conflict) trouble->reason = reason::foreign_table;
    // Others pass, and what was known stands until then.
    knows = trouble->reason != reason::rules_failed;
  }
  if (knows && trouble != trouble_) {
    for (auto& [name, entry] : doors_.book.entries()) {
      entry.rules_due = true;
      sight.concerned.insert(name);
    }
    trouble_ = std::move(trouble);
  }
  see(doors_.rules.take_drift(), sight);
  find_bare_addresses();
  return std::move(sight.concerned);
}

HostWatch::Names HostWatch::look_at_addresses(const Names& staying) {
  Sight sight{staying, {}};
  Result<AddressKeeper::Sight> seen = doors_.addresses.look();
  const bool was_told = std::exchange(addresses_not_seen_, !seen);
  if (!seen) {
    if (!was_told) doors_.log.error("addresses of this host not read", {{"error", seen.error()}});
    return {};
  }
  for (const IpAddress& address : seen->lost) {
    for (const ObjectName& user : doors_.book.users_of(address)) {
      repair(user, "address", fmt::format("address {} was gone", to_string(address)), sight);
    }
  }
  if (seen->networks_changed || seen->links_changed) {
    for (const auto& [name, entry] : doors_.book.entries()) sight.concerned.insert(name);
  }
  find_bare_addresses();
  return std::move(sight.concerned);
}

void HostWatch::see(const KernelDrift& drift, Sight& sight) {
  for (const KernelDrift::Listener& listener : drift.listeners) see(listener, sight);
  for (const IpAddress& address : drift.unguarded) {
    for (const ObjectName& user : doors_.book.users_of(address)) {
      repair(user, "guard", fmt::format("the guard of {} was gone", to_string(address)), sight);
      if (sight.staying.contains(user)) leftovers.guarded.insert(address);
    }
  }
  if (!drift.guarded.empty()) count_repair("guard");  // By find_bare_addresses().
  if (drift.structure) {
    count_repair("structure");
    doors_.log.warning("chains and rules of this host were changed");
    for (const auto& [name, keys] : doors_.rules.kernel().all()) {
      note(name, "chains and rules of this host were changed", sight);
    }
  }
  if (drift.links) count_repair("link");
}

void HostWatch::see(const KernelDrift::Listener& listener, Sight& sight) {
  const bool made = listener.expected != drivers::HeldListener{};
  const std::optional<KernelNote> note =
      parse_note(made ? listener.expected.note : listener.found.note);
  const std::string where = to_string(listener.key);
  if (note && doors_.book.find(note->name) != nullptr) {
    std::string what = made ? fmt::format("listener {} {}", where, rest_of(listener.found))
                            : fmt::format("listener {} was added by others", where);
    repair(note->name, "listener", std::move(what), sight);
    const bool stays = sight.staying.contains(note->name);
    if (stays || !made) leftovers.restored[listener.key] = listener.expected;
    return;
  }
  count_repair("listener");
  doors_.log.warning("a listener that nobody knows goes", {{"listener", where}});
  leftovers.restored[listener.key] = {};
}

// What is bound or guarded, and nobody's: after a crash between two steps, or by others' hands.
void HostWatch::find_bare_addresses() {
  auto check = [&](const IpAddress& address) {
    if (doors_.book.users_of(address).empty()) doors_.book.abandoned().insert(address);
  };
  for (const auto& [address, interface] : doors_.addresses.bound()) check(address);
  for (const IpAddress& address : doors_.rules.kernel().held().guarded) check(address);
}

void HostWatch::repair(const ObjectName& name, std::string_view kind, std::string what,
                       Sight& sight) {
  count_repair(kind);
  BookEntry* entry = doors_.book.find(name);
  // What stays as it is is put back as it was, and not understood anew.
  if (!sight.staying.contains(name)) entry->rules_due = true;
  if (sight.concerned.contains(name)) return;
  doors_.log.warning("repaired", {{"owner", name.owner}, {"name", name.name}, {"what", what}});
  note(name, std::move(what), sight);
}

// Many things that were changed at once are one repair.
void HostWatch::note(const ObjectName& name, std::string what, Sight& sight) {
  BookEntry* entry = doors_.book.find(name);
  if (entry == nullptr || !sight.concerned.insert(name).second) return;
  ++entry->repairs.count;
  entry->repairs.last = doors_.clock.wall_now();
  entry->repairs.last_reason = std::move(what);
}

void HostWatch::count_repair(std::string_view kind) {
  doors_.metrics
      .counter("infra_drift_repairs_total", "What others changed of ours on this host, by kind.",
               {{"kind", std::string(kind)}})
      .add();
}

}  // namespace isthmus::infra
