#include "isthmus/cloud/conformance_impl.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

namespace isthmus::cloud {
namespace {

using Effect = LoadBalancerPreview::Effect;
using Needs = ConformanceCheck::Needs;

// So many addresses behind a given one are tried for a free one, by previews.
constexpr int kNeighbours = 8;

// The address so many behind.
IpAddress behind(IpAddress address, int steps) {
  for (int i = 0; i < steps; ++i) {
    for (std::size_t byte = address.size(); byte-- > 0;) {
      if (++address.bytes[byte] != 0) break;
    }
  }
  return address;
}

bool refuses(Outcome outcome) {
  return outcome == Outcome::conflict || outcome == Outcome::invalid ||
         outcome == Outcome::unsupported;
}

// What it has is had again by asking for it, and nothing changes for the clients.
Task<Result<>> honours_requests(ConformanceBench& bench) {
  LoadBalancerSpec wish = bench.wish(bench.first());
  const LoadBalancerState before = CO_TRY(co_await bench.standing(wish));
  wish.requested_addresses = before.addresses;
  const Result<LoadBalancerState> asked = co_await bench.try_ensure(wish);
  if (asked.outcome() == Outcome::unsupported || asked.outcome() == Outcome::invalid) {
    co_return bench.skipped("the cloud takes no wishes for addresses: " + asked.error().message);
  }
  if (!asked) co_return bench.failed_call("asking for the address that it has", asked.error());
  const LoadBalancerState after = CO_TRY(co_await bench.settled(bench.first()));
  if (after.addresses != before.addresses) {
    co_return bench.failed("it asked for the addresses it had, and got others",
                           "honour a requested address or refuse it, and never replace it");
  }
  co_return {};
}

Task<Result<>> changes_the_address(ConformanceBench& bench) {
  const LoadBalancerSpec wish = bench.wish(bench.first());
  const LoadBalancerState before = CO_TRY(co_await bench.standing(wish));
  std::string why;
  for (int i = 1; i <= kNeighbours; ++i) {
    LoadBalancerSpec other = wish;
    for (const IpAddress& address : before.addresses) {
      other.requested_addresses.push_back(behind(address, i));
    }
    const Result<LoadBalancerPreview> possible = co_await bench.try_preview(other);
    if (!possible) {
      if (!refuses(possible.outcome())) {
        co_return bench.failed_call("preview of another address", possible.error());
      }
      why = possible.error().message;
      continue;
    }
    const LoadBalancerState after = CO_TRY(co_await bench.standing(other));
    if (after.addresses == other.requested_addresses) co_return {};
    co_return bench.failed("it asked for another address, and has not got it",
                           "honour a requested address or refuse it, and never replace it");
  }
  co_return bench.skipped(
      fmt::format("none of the {} addresses behind it is to be had: {}", kNeighbours, why),
      "let the pool have a few free addresses");
}

// What one holds the other does not get, and is told why; what is only preferred is passed over.
Task<Result<>> keeps_what_is_held(ConformanceBench& bench) {
  const LoadBalancerState holder = CO_TRY(co_await bench.standing(bench.wish(bench.first())));
  CO_TRY(co_await bench.gone(bench.second()));
  LoadBalancerSpec wish = bench.wish(bench.second());
  wish.requested_addresses = holder.addresses;
  const Result<LoadBalancerState> refused = co_await bench.try_ensure(wish);
  if (refused.outcome() == Outcome::unsupported || refused.outcome() == Outcome::invalid) {
    co_return bench.skipped("the cloud takes no wishes for addresses: " + refused.error().message);
  }
  if (refused.outcome() != Outcome::conflict || refused.error().message.empty()) {
    co_return bench.failed(fmt::format("asking for an address that another holds was answered "
                                       "with {}",
                                       to_string(refused.outcome())),
                           "answer `conflict`, naming the holder and the next step");
  }
  const Result<LoadBalancerState> half = co_await bench.try_get(bench.second());
  if (half.outcome() != Outcome::absent) {
    co_return bench.failed("what was refused for its address stands",
                           "decide about the address before anything is made");
  }
  const LoadBalancerState still = CO_TRY(co_await bench.get(bench.first()));
  if (still.addresses == holder.addresses) co_return {};
  co_return bench.failed("the holder lost its address to one who asked for it",
                         "an address that is held never changes by itself");
}

Task<Result<>> passes_over_preferences(ConformanceBench& bench) {
  const LoadBalancerState holder = CO_TRY(co_await bench.standing(bench.wish(bench.first())));
  CO_TRY(co_await bench.gone(bench.second()));
  LoadBalancerSpec wish = bench.wish(bench.second());
  wish.preferred_addresses = holder.addresses;
  const Result<LoadBalancerState> made = co_await bench.try_ensure(wish);
  if (made.outcome() == Outcome::conflict) {
    wish.preferred_addresses.clear();
    const Result<LoadBalancerState> plain = co_await bench.try_ensure(wish);
    if (!plain) {
      co_return bench.skipped("there is no second address: " + plain.error().message,
                              "let the pool have a few free addresses");
    }
  }
  if (!made) co_return bench.failed_call("ensure with a preferred address", made.error());
  const LoadBalancerState state = CO_TRY(co_await bench.settled(bench.second()));
  if (std::ranges::find_first_of(state.addresses, holder.addresses) != state.addresses.end()) {
    co_return bench.failed("an address is held by two", "an address has one holder");
  }
  wish.preferred_addresses.clear();
  const LoadBalancerState after = CO_TRY(co_await bench.ensure(wish));
  if (after.generation == state.generation && after.addresses == state.addresses) co_return {};
  co_return bench.failed("leaving out a preferred address was a change",
                         "preferred addresses are no part of what a load balancer is");
}

// A second family beside the first: the first address stays.
Task<Result<>> takes_both_families(ConformanceBench& bench) {
  LoadBalancerSpec one = bench.wish(bench.first());
  one.families = {bench.options().families[0]};
  one.targets = {bench.target(0, {IpFamily::v4, IpFamily::v6})};
  LoadBalancerSpec both = one;
  both.families.push_back(one.families[0] == IpFamily::v4 ? IpFamily::v6 : IpFamily::v4);
  const LoadBalancerState before = CO_TRY(co_await bench.standing(one));
  const Result<LoadBalancerPreview> possible = co_await bench.try_preview(both);
  if (!possible && refuses(possible.outcome())) {
    co_return bench.skipped("the cloud has only one family here: " + possible.error().message,
                            "let the pool have addresses of both families");
  }
  if (!possible) co_return bench.failed_call("preview of two families", possible.error());
  const LoadBalancerState after = CO_TRY(co_await bench.standing(both));
  const bool has_both =
      after.addresses.size() == 2 && after.addresses[0].family != after.addresses[1].family;
  if (!has_both) {
    co_return bench.failed(
        fmt::format("two families were asked for, and it has {} addresses", after.addresses.size()),
        "each family has one address, or the wish is refused");
  }
  if (std::ranges::find(after.addresses, before.addresses.at(0)) == after.addresses.end()) {
    co_return bench.failed("the first family's address changed when a second came",
                           "an address that is held never changes by itself");
  }
  const LoadBalancerState back = CO_TRY(co_await bench.standing(one));
  if (back.addresses == before.addresses) co_return {};
  co_return bench.failed("with one family again it has not the address it had",
                         "free the address of the family that was left out, and no other");
}

}  // namespace

void add_address_checks(std::vector<ConformanceCheck>& checks) {
  const auto add = [&checks](std::string name, std::string sentence, auto run) {
    checks.push_back({std::move(name), std::move(sentence), Needs::load_balancers, run});
  };
  add("address-requested", "An address that is asked for is given or refused, never replaced",
      honours_requests);
  add("changes-address", "Another requested address is taken over", changes_the_address);
  add("address-held", "An address that another holds is a conflict, and nothing is made",
      keeps_what_is_held);
  add("address-preferred", "A preferred address that is held is passed over in silence",
      passes_over_preferences);
  add("changes-families", "A second family comes and goes, and the first keeps its address",
      takes_both_families);
}

}  // namespace isthmus::cloud
