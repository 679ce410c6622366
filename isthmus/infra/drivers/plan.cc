#include "isthmus/infra/drivers/plan.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

namespace isthmus::infra::drivers {
namespace {

// FNV-1a. Like the slots it seeds, it outlives this program in the kernel and must never change.
std::uint64_t seed_of(const ListenerKey& key) {
  std::uint64_t hash = 0xcbf29ce484222325;
  auto take = [&](std::uint8_t byte) { hash = (hash ^ byte) * 0x100000001b3; };
  for (std::size_t i = 0; i < key.address.size(); ++i) take(key.address.bytes[i]);
  take(key.protocol == Protocol::tcp ? 6 : 17);
  take(static_cast<std::uint8_t>(key.port >> 8));
  take(static_cast<std::uint8_t>(key.port & 0xff));
  return hash;
}

std::set<Endpoint> owners(const Slots& slots) {
  std::set<Endpoint> result(slots.begin(), slots.end());
  result.erase(Endpoint{});
  return result;
}

Result<> check(const Balancer& balancer) {
  auto refuse = [&](std::string why) {
    return fail(Outcome::invalid, fmt::format("{}: {}", balancer.note, why));
  };
  if (balancer.note.size() > kNoteBytesMax || balancer.note.contains('\0')) {
    return refuse(fmt::format("the note has {} bytes; {} without zeros are kept with a listener",
                              balancer.note.size(), kNoteBytesMax));
  }
  if (std::size_t count = merged(balancer.allowed_sources).size(); count > kSourcesMax) {
    return refuse(fmt::format("{} ranges of allowed sources, at most {} fit", count, kSourcesMax));
  }
  for (const Listener& listener : balancer.listeners) {
    if (listener.port == 0) return refuse("port 0 cannot be listened on");
    if (!balancer.announce_only && listener.group >= balancer.groups.size()) {
      return refuse(fmt::format("port {} is served by no target group", listener.port));
    }
  }
  return {};
}

const HeldListener& held_listener(const Held& held, const ListenerKey& key) {
  static const HeldListener kNothing;
  auto found = held.listeners.find(key);
  return found == held.listeners.end() ? kNothing : found->second;
}

// What is wanted of each listener that must be looked at; nothing is wanted of those that go.
Result<std::map<ListenerKey, HeldListener>> wanted_listeners(const Held& held, const Wish& wish) {
  std::map<ListenerKey, HeldListener> wanted;
  for (const Balancer& balancer : wish.balancers) {
    TRY(check(balancer));
    for (const IpAddress& address : balancer.addresses) {
      for (const Listener& listener : balancer.listeners) {
        ListenerKey key{address, listener.protocol, listener.port};
        const Slots& present = held_listener(held, key).slots;
        auto [place, first] =
            wanted.try_emplace(key, wanted_listener(balancer, listener, key, present));
        if (!first) {
          return fail(Outcome::invalid, fmt::format("{}: {} is taken by {}", balancer.note,
                                                    to_string(key), place->second.note));
        }
      }
    }
  }
  for (const ListenerKey& key : wish.gone) wanted.try_emplace(key);
  if (wish.rest == Rest::remove) {
    for (const auto& [key, listener] : held.listeners) wanted.try_emplace(key);
  }
  return wanted;
}

void plan_guards(const Held& held, const Wish& wish, Plan& plan) {
  std::set<IpAddress> wanted;
  for (const Balancer& balancer : wish.balancers) {
    wanted.insert(balancer.addresses.begin(), balancer.addresses.end());
  }
  std::ranges::set_difference(wanted, held.guarded, std::back_inserter(plan.guarded_added));
  std::set<IpAddress> going(wish.unguarded.begin(), wish.unguarded.end());
  if (wish.rest == Rest::remove) going = held.guarded;
  for (const IpAddress& address : going) {
    if (held.guarded.contains(address) && !wanted.contains(address)) {
      plan.guarded_removed.push_back(address);
    }
  }
}

void plan_links(const Held& held, const Wish& wish, Plan& plan) {
  if (wish.rest == Rest::keep) return;
  const std::vector<IpPrefix> wanted = merged(wish.links);
  std::ranges::set_difference(held.links, wanted, std::back_inserter(plan.links_removed));
  std::ranges::set_difference(wanted, held.links, std::back_inserter(plan.links_added));
}

std::string text_of(const ListenerChange& change) {
  std::string where = to_string(change.key);
  if (change.to == HeldListener{}) return fmt::format("stop {}\n", where);
  std::size_t moved = 0;
  for (std::size_t slot = 0; slot < kSlots; ++slot) {
    moved += change.from.slots[slot] != change.to.slots[slot];
  }
  return fmt::format("{} {} for {}: {} targets, {} slots move\n",
                     change.from == HeldListener{} ? "serve" : "change", where, change.to.note,
                     owners(change.to.slots).size(), moved);
}

}  // namespace

std::vector<IpPrefix> merged(std::vector<IpPrefix> prefixes) {
  // Sorted, what contains a prefix stands before it, with nothing of its own family between that
  // it does not contain as well.
  std::ranges::sort(prefixes);
  std::vector<IpPrefix> result;
  for (const IpPrefix& prefix : prefixes) {
    if (result.empty() || !result.back().contains(prefix)) result.push_back(prefix);
  }
  return result;
}

HeldListener wanted_listener(const Balancer& balancer, const Listener& listener,
                             const ListenerKey& key, const Slots& present) {
  HeldListener wanted;
  wanted.note = balancer.note;
  if (balancer.announce_only) {
    wanted.passed = true;
    return wanted;
  }
  std::vector<WeightedEndpoint> targets;
  for (const Target& target : balancer.groups[listener.group]) {
    bool takes_new_flows = target.usable && !target.drain;
    if (takes_new_flows && target.endpoint.address.family == key.address.family) {
      targets.push_back({target.endpoint, target.weight});
    }
  }
  bool restricted = !balancer.allowed_sources.empty();
  wanted.choice = balancer.client_affinity
                      ? (restricted ? Choice::restricted_client : Choice::client)
                      : (restricted ? Choice::restricted_random : Choice::random);
  wanted.announced = true;
  wanted.masquerade = balancer.source_address == SourceAddress::masquerade;
  for (const IpPrefix& prefix : balancer.allowed_sources) {
    if (prefix.address.family == key.address.family) wanted.sources.push_back(prefix);
  }
  wanted.sources = merged(std::move(wanted.sources));
  wanted.slots = fill_slots(targets, present, seed_of(key));
  if (!wanted.masquerade) {
    std::set<IpAddress> loops;
    for (const Endpoint& owner : owners(wanted.slots)) loops.insert(owner.address);
    wanted.loops.assign(loops.begin(), loops.end());
  }
  return wanted;
}

Result<Plan> make_plan(const Held& held, const Wish& wish) {
  Plan plan;
  plan.build = held.structure != Structure::right;
  std::map<ListenerKey, HeldListener> wanted = TRY(wanted_listeners(held, wish));
  plan_links(held, wish, plan);
  plan_guards(held, wish, plan);
  for (auto& [key, listener] : wanted) {
    const HeldListener& present = held_listener(held, key);
    if (present != listener) plan.listeners.push_back({key, present, std::move(listener)});
  }
  return plan;
}

bool Plan::empty() const {
  return !build && links_removed.empty() && links_added.empty() && guarded_added.empty() &&
         listeners.empty() && guarded_removed.empty();
}

std::string Plan::text() const {
  std::string text;
  auto line = [&](std::string_view verb, const std::string& what) {
    text += fmt::format("{} {}\n", verb, what);
  };
  if (build) text += "build the chains and rules\n";
  for (const IpPrefix& link : links_removed) line("forget link", to_string(link));
  for (const IpPrefix& link : links_added) line("learn link", to_string(link));
  for (const IpAddress& address : guarded_added) line("guard", to_string(address));
  for (const ListenerChange& change : listeners) text += text_of(change);
  for (const IpAddress& address : guarded_removed) line("unguard", to_string(address));
  return text;
}

void carry_out(const ListenerChange& change, Held& held) {
  if (change.to == HeldListener{}) {
    held.listeners.erase(change.key);
  } else {
    held.listeners[change.key] = change.to;
  }
}

void carry_out(const Plan& plan, Held& held) {
  if (plan.build) held.structure = Structure::right;
  for (const IpPrefix& link : plan.links_removed) held.links.erase(link);
  held.links.insert(plan.links_added.begin(), plan.links_added.end());
  held.guarded.insert(plan.guarded_added.begin(), plan.guarded_added.end());
  for (const ListenerChange& change : plan.listeners) carry_out(change, held);
  for (const IpAddress& address : plan.guarded_removed) held.guarded.erase(address);
}

std::vector<Endpoint> targets_left(const ListenerChange& change) {
  std::vector<Endpoint> left;
  std::ranges::set_difference(owners(change.from.slots), owners(change.to.slots),
                              std::back_inserter(left));
  return left;
}

}  // namespace isthmus::infra::drivers
