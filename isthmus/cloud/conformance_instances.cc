#include "isthmus/cloud/conformance_impl.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

namespace isthmus::cloud {
namespace {

using Needs = ConformanceCheck::Needs;

constexpr std::size_t kMachinesAskedFor =
    3;  // One by one: enough to see, few enough for any cloud.

Instances& machines(ConformanceBench& bench) { return *bench.provider().capabilities().instances; }

Task<Result<Listing<Instance>>> list(ConformanceBench& bench, InstanceQuery query) {
  Result<Listing<Instance>> answer = co_await bench.call<Listing<Instance>>(
      [&bench, query = std::move(query)] { return machines(bench).list(query); });
  if (!answer) co_return bench.failed_call("list of machines", answer.error());
  co_return answer;
}

Task<Result<>> lists_all_machines(ConformanceBench& bench) {
  const Listing<Instance> all = CO_TRY(co_await list(bench, {}));
  if (all.completeness != Completeness::complete) {
    co_return bench.failed("the list of machines is partial",
                           "read every page of one consistent view, and say `complete` then");
  }
  std::set<ProviderId> seen;
  for (const Instance& machine : all.items) {
    const std::string id = to_string(machine.provider_id);
    if (machine.provider_id.id.empty() || machine.provider_id.scheme != bench.provider().scheme()) {
      co_return bench.failed(fmt::format("a listed machine has the id \"{}\"", id),
                             "every machine has an id of the provider's own scheme");
    }
    if (!seen.insert(machine.provider_id).second) {
      co_return bench.failed(fmt::format("{} is listed twice", id), "list every machine once");
    }
  }
  co_return {};
}

Task<Result<>> finds_machines(ConformanceBench& bench) {
  const Listing<Instance> all = CO_TRY(co_await list(bench, {}));
  if (all.items.empty()) co_return bench.skipped("the cloud has no machine", "add one");
  for (std::size_t i = 0; i < std::min(all.items.size(), kMachinesAskedFor); ++i) {
    const Instance& listed = all.items[i];
    const std::string id = to_string(listed.provider_id);
    const Result<Instance> got = co_await bench.call<Instance>(
        [&bench, wanted = listed.provider_id] { return machines(bench).get(wanted); });
    if (listed.presence == Presence::absent && got.outcome() == Outcome::absent) continue;
    if (!got) co_return bench.failed_call("get of the listed machine " + id, got.error());
    if (got->provider_id != listed.provider_id) {
      co_return bench.failed(
          fmt::format("get of {} answered about {}", id, to_string(got->provider_id)),
          "answer with the machine that was asked for, or with `lost`");
    }
    if (listed.names.empty()) continue;
    const Listing<Instance> named = CO_TRY(co_await list(bench, {.name = listed.names[0]}));
    if (std::ranges::find(named.items, listed.provider_id, &Instance::provider_id) ==
        named.items.end()) {
      co_return bench.failed(
          fmt::format("a search for the name {} does not find {}", listed.names[0], id),
          "answer at least every machine that matches any field of the query");
    }
  }
  co_return {};
}

// Absent is a vote for deleting a Node, so a cloud that never heard of an id may also say that it
// does not know.
Task<Result<>> knows_no_made_up_machine(ConformanceBench& bench) {
  const ProviderId id{bench.provider().scheme(), bench.made_up_id()};
  const Result<Instance> got =
      co_await bench.call<Instance>([&bench, id] { return machines(bench).get(id); });
  if (got.outcome() == Outcome::absent || got.outcome() == Outcome::invalid) co_return {};
  if (!got) co_return bench.failed_call("get of an id that nobody ever wrote", got.error());
  if (got->provider_id == id && got->presence == Presence::unknown) co_return {};
  co_return bench.failed(fmt::format("get of an id that nobody ever wrote answered {}, {}",
                                     got->describe(), to_string(got->presence)),
                         "answer `absent`, or the bare id with presence unknown");
}

Task<Result<>> refuses_foreign_ids(ConformanceBench& bench) {
  const ProviderId id{"not-" + bench.provider().scheme(), bench.made_up_id()};
  const Result<Instance> got =
      co_await bench.call<Instance>([&bench, id] { return machines(bench).get(id); });
  if (got.outcome() == Outcome::invalid) co_return {};
  co_return bench.failed(
      fmt::format("get of {} was answered with {}", to_string(id), to_string(got.outcome())),
      "answer `invalid`: an id of another scheme is somebody else's machine, "
      "and `absent` would delete its Node");
}

}  // namespace

void add_instance_checks(std::vector<ConformanceCheck>& checks) {
  checks.push_back({"instances-list",
                    "The list of machines is complete; each has an id of this scheme, and one",
                    Needs::instances, lists_all_machines});
  checks.push_back({"instances-get", "A listed machine is found by its id and by its name",
                    Needs::instances, finds_machines});
  checks.push_back({"instances-unknown", "An id that nobody ever wrote is absent or unknown",
                    Needs::instances, knows_no_made_up_machine});
  checks.push_back({"instances-foreign", "An id of another scheme is invalid, and never absent",
                    Needs::instances, refuses_foreign_ids});
}

}  // namespace isthmus::cloud
