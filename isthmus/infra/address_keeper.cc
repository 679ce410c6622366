#include "isthmus/infra/address_keeper.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "isthmus/base/duration.h"
#include "isthmus/base/scope.h"
#include "isthmus/infra/drivers/plan.h"

namespace isthmus::infra {
namespace {

// Whoever has the address may keep it for long, and each try bothers the whole link; whoever took
// it away from there waits to see that it helped.
constexpr Duration kConflictPause = std::chrono::seconds(15);
constexpr BackoffPolicy kFailurePolicy{
    .start = std::chrono::seconds(1), .cap = std::chrono::minutes(1), .jitter = Jitter::half};

std::string_view reason_of(Outcome outcome) {
  return outcome == Outcome::denied ? reason::not_permitted : reason::address_failed;
}

// What decides where an address belongs. Link-local networks are on every interface, and come and
// go with it all the time where there are containers.
std::vector<drivers::InterfaceAddress> networks_of(
    const std::vector<drivers::InterfaceAddress>& all) {
  std::vector<drivers::InterfaceAddress> networks;
  std::ranges::copy_if(all, std::back_inserter(networks), [](const drivers::InterfaceAddress& one) {
    return one.address.family == IpFamily::v4 || !is_link_local(one.address);
  });
  // Whether a link is down decides not where an address belongs.
  for (drivers::InterfaceAddress& one : networks) one.link_down = false;
  return networks;
}

}  // namespace

Result<AddressKeeper::Sight> AddressKeeper::look() {
  std::vector<drivers::InterfaceAddress> present = TRY(doors_.book.observe());
  std::map<IpAddress, std::string> ours;
  std::set<std::string> down;
  const std::vector<drivers::InterfaceAddress> others_before = std::exchange(others_, {});
  for (drivers::InterfaceAddress& one : present) {
    if (one.link_down && one.ours) down.insert(one.interface);
    if (!one.ours) {
      others_.push_back(std::move(one));
      continue;
    }
    // On two interfaces: the one that is known stays, and the other is found when that one goes.
    std::string& interface = ours.try_emplace(one.address, one.interface).first->second;
    auto known = bound_.find(one.address);
    if (known != bound_.end() && known->second == one.interface) interface = one.interface;
  }
  Sight sight;
  sight.networks_changed = networks_of(others_before) != networks_of(others_);
  sight.links_changed = down != down_;
  down_ = std::move(down);
  for (const auto& [address, interface] : bound_) {
    auto found = ours.find(address);
    if (found != ours.end() && found->second == interface) continue;
    sight.lost.push_back(address);
    if (found == ours.end()) lost_.insert(address);
  }
  bound_ = std::move(ours);
  for (auto& [address, waiting] : waiting_) {
    const bool was_theirs = waiting.trouble && waiting.trouble->reason == reason::address_foreign;
    if (was_theirs && theirs(address) == nullptr) waiting.again_at = doors_.clock.now();
  }
  return sight;
}

std::optional<Trouble> AddressKeeper::hold(const IpAddress& address, const std::string& fallback) {
  Result<std::string> interface = drivers::interface_for(address, others_, fallback);
  if (!interface && bound_.contains(address)) return hold_where_it_is(address);
  if (!interface) {
    return Trouble{reason::no_interface,
                   fmt::format("{}; give an interface such an address, or name one in the pool",
                               interface.error().message)};
  }
  return hold_on(address, *interface);
}

std::optional<Trouble> AddressKeeper::hold_where_it_is(const IpAddress& address) {
  auto found = bound_.find(address);
  if (found == bound_.end()) return hold(address, {});
  return held_on(address, found->second);
}

// It is bound. Where the link is down nobody hears of it, and the announcements go on until it is
// back.
std::optional<Trouble> AddressKeeper::held_on(const IpAddress& address,
                                              const std::string& interface) {
  announce({address, interface});
  if (!down_.contains(interface)) return std::nullopt;
  return Trouble{reason::link_down,
                 fmt::format("{}, which holds {}, is down", interface, to_string(address))};
}

std::optional<Trouble> AddressKeeper::hold_on(const IpAddress& address,
                                              const std::string& interface) {
  const drivers::BoundAddress where{address, interface};
  auto found = bound_.find(address);
  if (found != bound_.end() && found->second == interface) {
    waiting_.erase(address);
    return held_on(address, interface);
  }
  Waiting& waiting = waiting_[address];
  if (waiting.interface != interface)
    waiting = {.interface = interface, .answer = {}, .trouble = {}};
  if (const drivers::InterfaceAddress* other = theirs(address)) {
    return postpone(waiting, kConflictPause,
                    {reason::address_foreign,
                     fmt::format("{} has {} and not from us; take it away there, or use another "
                                 "address",
                                 other->interface, to_string(address))});
  }
  if (found != bound_.end()) return move(where);
  if (lost_.contains(address)) return bind(where, waiting);
  return advance(where, waiting);
}

// It is ours on another interface: nobody has to be asked.
std::optional<Trouble> AddressKeeper::move(const drivers::BoundAddress& to) {
  Result<> released = release(to.address);
  Waiting& waiting = waiting_[to.address];
  waiting.interface = to.interface;
  if (released) return bind(to, waiting);
  const Duration delay = backoff_delay(kFailurePolicy, waiting.failures++, doors_.random);
  return postpone(waiting, delay, not_bound(to, released.error()));
}

// Not bound, and others of the link have not been asked, or have not answered yet, or have.
std::optional<Trouble> AddressKeeper::advance(const drivers::BoundAddress& address,
                                              Waiting& waiting) {
  if (waiting.answer) return take_answer(address, waiting);
  if (waiting.trouble && doors_.clock.now() < waiting.again_at) return waiting.trouble;
  if (!waiting.probing) {
    waiting.probing = true;
    to_probe_.push_back(address);
    any_to_probe_.set();
  }
  if (waiting.trouble) return waiting.trouble;  // Stands until the new answer is there.
  return Trouble{reason::probing, fmt::format("{} is asked for on {}, in case another has it",
                                              to_string(address.address), address.interface)};
}

std::optional<Trouble> AddressKeeper::take_answer(const drivers::BoundAddress& address,
                                                  Waiting& waiting) {
  const Result<std::optional<drivers::Claim>> answer = *std::exchange(waiting.answer, std::nullopt);
  if (!answer) {
    const Duration delay = backoff_delay(kFailurePolicy, waiting.failures++, doors_.random);
    return postpone(waiting, delay, not_bound(address, answer.error()));
  }
  if (!*answer) return bind(address, waiting);
  doors_.log.warning("address is taken", {{"address", to_string(address.address)},
                                          {"interface", address.interface},
                                          {"by", drivers::to_string((*answer)->mac)}});
  return postpone(
      waiting, doors_.random.between(kConflictPause / 2, kConflictPause),
      {reason::address_conflict,
       fmt::format(
           "{} on {} is {} by the machine {}; find it and take the address away from it, or "
           "take it out of the pool; it is tried again every 15s",
           to_string(address.address), address.interface,
           (*answer)->probing ? "wanted, at this very moment," : "answered for",
           drivers::to_string((*answer)->mac))});
}

std::optional<Trouble> AddressKeeper::bind(const drivers::BoundAddress& address, Waiting& waiting) {
  Result<> bound = doors_.book.bind(address);
  if (!bound && bound.outcome() == Outcome::conflict) {
    return postpone(waiting, kConflictPause,
                    {reason::address_foreign,
                     fmt::format("{} has {} already and not from us; take it away there, or use "
                                 "another address",
                                 address.interface, to_string(address.address))});
  }
  if (!bound) {
    const Duration delay = backoff_delay(kFailurePolicy, waiting.failures++, doors_.random);
    return postpone(waiting, delay, not_bound(address, bound.error()));
  }
  doors_.log.info("address bound",
                  {{"address", to_string(address.address)}, {"interface", address.interface}});
  lost_.erase(address.address);
  bound_[address.address] = address.interface;
  waiting_.erase(address.address);
  announce(address);
  return std::nullopt;
}

std::optional<Trouble> AddressKeeper::postpone(Waiting& waiting, Duration delay, Trouble trouble) {
  waiting.again_at = later(doors_.clock.now(), delay);
  waiting.trouble = std::move(trouble);
  return waiting.trouble;
}

Trouble AddressKeeper::not_bound(const drivers::BoundAddress& address, const Error& error) const {
  return {reason_of(error.outcome),
          fmt::format("{} on {}: {}; it is tried again within a minute", to_string(address.address),
                      address.interface, error.message)};
}

// Whether the link was told now or will be: the schedule keeps trying and reports it.
void AddressKeeper::announce(const drivers::BoundAddress& address) {
  (void)doors_.announcements.hold(address);
}

void AddressKeeper::retry(const IpAddress& address) {
  auto found = waiting_.find(address);
  if (found != waiting_.end()) found->second.again_at = doors_.clock.now();
}

Result<> AddressKeeper::release(const IpAddress& address) {
  waiting_.erase(address);
  lost_.erase(address);
  doors_.announcements.release(address);
  auto found = bound_.find(address);
  if (found == bound_.end()) return {};
  Result<> unbound = doors_.book.unbind({address, found->second});
  // It is gone, or somebody else's by now: not ours to take away in either case.
  const bool gone = unbound.outcome() == Outcome::absent || unbound.outcome() == Outcome::conflict;
  if (!unbound && !gone) return unbound;
  doors_.log.info("address released",
                  {{"address", to_string(address)}, {"interface", found->second}});
  bound_.erase(found);
  return {};
}

std::set<IpAddress> AddressKeeper::take_moved() {
  moved_.clear();
  std::set<IpAddress> moved = std::exchange(moved_addresses_, {});
  for (const auto& [address, waiting] : waiting_) {
    if (is_due(waiting)) moved.insert(address);
  }
  return moved;
}

bool AddressKeeper::is_due() const {
  return moved_.is_set() ||
         std::ranges::any_of(waiting_, [&](const auto& entry) { return is_due(entry.second); });
}

bool AddressKeeper::is_due(const Waiting& waiting) const {
  return waiting.trouble && !waiting.probing && waiting.again_at <= doors_.clock.now();
}

std::vector<IpPrefix> AddressKeeper::links() const {
  return drivers::merged(drivers::links_of(others_));
}

const drivers::InterfaceAddress* AddressKeeper::theirs(const IpAddress& address) const {
  auto found = std::ranges::find(others_, address, &drivers::InterfaceAddress::address);
  return found == others_.end() ? nullptr : &*found;
}

Task<Result<>> AddressKeeper::run() {
  Scope& here = co_await current_scope();
  Scope scope(here);
  Result<> ended;
  while (ended) {
    for (drivers::BoundAddress& address : std::exchange(to_probe_, {})) {
      scope.spawn(&AddressKeeper::probe, this, std::move(address));
    }
    any_to_probe_.clear();
    ended = co_await any_to_probe_.wait();
  }
  Result<> joined = co_await scope.join();
  if (ended) co_return joined;
  co_return ended;
}

// Never fails, because that would end the other probes.
Task<Result<>> AddressKeeper::probe(drivers::BoundAddress address) {
  Result<std::optional<drivers::Claim>> answer = co_await doors_.probe.ask(address);
  if (is_our_own(answer.outcome())) co_return Result<>{};
  auto found = waiting_.find(address.address);
  // Nobody waits for it any more, or on another interface.
  if (found == waiting_.end() || found->second.interface != address.interface) co_return Result<>{};
  found->second.probing = false;
  found->second.answer = std::move(answer);
  moved_addresses_.insert(address.address);
  moved_.set();
  co_return Result<>{};
}

}  // namespace isthmus::infra
