#include "isthmus/controllers/node_match.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "isthmus/base/text.h"
#include "isthmus/cloud/identity.h"
#include "isthmus/cloud/ip_address.h"
#include "isthmus/controllers/node_addresses.h"

namespace isthmus::controllers {
namespace {

constexpr std::array kMatchBy{MatchBy::system_uuid, MatchBy::name, MatchBy::internal_ip};
constexpr std::size_t kNamedMax = 5;  // Candidates named in a message for people.

template <class Range, class Value>
bool contains(const Range& range, const Value& value) {
  return std::ranges::find(range, value) != std::ranges::end(range);
}

// The addresses by which a kubelet may already have said where it is.
std::vector<std::string> internal_ips(const kube::Node& node) {
  std::vector<std::string> addresses;
  for (const auto& [type, address] : node.addresses) {
    if (type == "InternalIP" && !is_nobodys(address)) addresses.push_back(address);
  }
  const auto provided = node.meta.annotations.find(kProvidedNodeIpAnnotation).value_or("");
  for (const std::string_view part : split(provided, ',')) {
    const bool is_address = cloud::read_ip(part) && !is_nobodys(part);
    if (is_address && !contains(addresses, part)) addresses.emplace_back(part);
  }
  return addresses;
}

// A query that only asks for what this kind of match compares.
cloud::InstanceQuery query_by(const kube::Node& node, MatchBy by) {
  switch (by) {
    case MatchBy::system_uuid:
      return {.system_uuid = node.system_uuid};
    case MatchBy::name:
      return {.name = node.meta.key.name};
    case MatchBy::internal_ip:
      return {.internal_ips = internal_ips(node)};
  }
  ISTHMUS_ASSERT(false, "a MatchBy that is none");
}

using Machines = std::vector<const cloud::Instance*>;

std::string name_all(const Machines& machines) {
  std::string text;
  for (std::size_t i = 0; i < machines.size() && i < kNamedMax; ++i) {
    text += (i == 0 ? "" : ", ") + machines[i]->describe();
  }
  if (machines.size() > kNamedMax) text += fmt::format(" and {} more", machines.size() - kNamedMax);
  return text;
}

std::optional<NoMatch> why_unusable(const kube::Node& node, const cloud::Instance& machine,
                                    const Evidence& evidence, const std::vector<MatchBy>& order) {
  switch (machine.presence) {
    case cloud::Presence::present:
      break;
    case cloud::Presence::absent:
      return NoMatch{"machine_retired", fmt::format("machine {} is retired", machine.describe())};
    case cloud::Presence::unknown: {
      // Of a machine that it never knew a cloud can only answer the id (cloud/provider.h).
      const bool was_known = !machine.names.empty();
      return NoMatch{"machine_unknown", fmt::format("{} machine {}",
                                                    was_known ? "nobody vouches any more for"
                                                              : "the cloud does not know",
                                                    machine.describe())};
    }
  }
  const auto holder = evidence.held_by.find(to_string(machine.provider_id));
  if (holder != evidence.held_by.end()) {
    return NoMatch{"machine_held", fmt::format("machine {} belongs to Node {} already",
                                               machine.describe(), holder->second)};
  }
  const bool contradicts =
      contains(order, MatchBy::system_uuid) && !node.system_uuid.empty() &&
      !machine.system_uuid.empty() &&
      cloud::uuid_key(node.system_uuid) != cloud::uuid_key(machine.system_uuid);
  if (contradicts) {
    return NoMatch{"machine_mismatch",
                   fmt::format("machine {} has system UUID {}, but the kubelet runs on {}",
                               machine.describe(), machine.system_uuid, node.system_uuid)};
  }
  return std::nullopt;
}

Match judge(const kube::Node& node, const cloud::Instance& machine, const Evidence& evidence,
            const std::vector<MatchBy>& order) {
  if (auto why = why_unusable(node, machine, evidence, order)) return *std::move(why);
  return machine;
}

Match match_by_id(const kube::Node& node, const Evidence& evidence,
                  const std::vector<MatchBy>& order) {
  for (const cloud::Instance& machine : evidence.machines) {
    if (to_string(machine.provider_id) == node.provider_id) {
      return judge(node, machine, evidence, order);
    }
  }
  return NoMatch{"machine_not_found",
                 fmt::format("there is no machine with providerID {}", node.provider_id)};
}

std::string what_was_compared(const kube::Node& node, const std::vector<MatchBy>& order) {
  std::vector<std::string> parts;
  for (const MatchBy by : order) {
    if (by == MatchBy::system_uuid && !node.system_uuid.empty()) {
      parts.push_back("system UUID " + node.system_uuid);
    } else if (by == MatchBy::name) {
      parts.push_back("name " + node.meta.key.name);
    } else if (by == MatchBy::internal_ip) {
      for (const std::string& address : internal_ips(node)) parts.push_back("address " + address);
    }
  }
  return fmt::format("{}", fmt::join(parts, " or "));
}

// Several machines match: those that are gone or not vouched for do not make it ambiguous.
Match choose(const kube::Node& node, const Machines& found, MatchBy by, const Evidence& evidence,
             const std::vector<MatchBy>& order) {
  Machines present;
  std::ranges::copy_if(found, std::back_inserter(present), [](const cloud::Instance* machine) {
    return machine->presence == cloud::Presence::present;
  });
  if (present.empty()) return judge(node, *found.front(), evidence, order);
  if (present.size() == 1) return judge(node, *present.front(), evidence, order);
  return NoMatch{"machine_ambiguous", fmt::format("{} machines have its {}: {}", present.size(),
                                                  to_string(by), name_all(present))};
}

}  // namespace

std::string_view to_string(MatchBy by) {
  switch (by) {
    case MatchBy::system_uuid:
      return "systemUUID";
    case MatchBy::name:
      return "name";
    case MatchBy::internal_ip:
      return "InternalIP";
  }
  ISTHMUS_ASSERT(false, "a MatchBy that has no name");
}

Result<std::vector<MatchBy>> parse_match_order(std::string_view text) {
  std::vector<std::string_view> words = split(text, ',');
  if (words.front() == "providerID") words.erase(words.begin());
  std::vector<MatchBy> order;
  for (const std::string_view word : words) {
    if (word == "providerID") return fail(Outcome::invalid, "providerID can only come first");
    const auto known = std::ranges::find(kMatchBy, word, [](MatchBy by) { return to_string(by); });
    if (known == kMatchBy.end()) {
      return fail(
          Outcome::invalid,
          fmt::format("{} is not one of providerID, systemUUID, name, InternalIP", quoted(word)));
    }
    if (contains(order, *known)) {
      return fail(Outcome::invalid, fmt::format("{} is there twice", quoted(word)));
    }
    order.push_back(*known);
  }
  return order;
}

Match match_machine(const kube::Node& node, const Evidence& evidence,
                    const std::vector<MatchBy>& order) {
  if (!node.provider_id.empty()) return match_by_id(node, evidence, order);
  for (const MatchBy by : order) {
    const cloud::InstanceQuery query = query_by(node, by);
    if (query.asks_for_all()) continue;  // The Node has nothing of this kind to compare.
    Machines found;
    for (const cloud::Instance& machine : evidence.machines) {
      if (cloud::matches(machine, query)) found.push_back(&machine);
    }
    if (!found.empty()) return choose(node, found, by, evidence, order);
  }
  const bool partial = evidence.completeness == cloud::Completeness::partial;
  return NoMatch{"machine_not_found",
                 fmt::format("no machine has its {}{}", what_was_compared(node, order),
                             partial ? " (the cloud could not list all machines)" : "")};
}

cloud::InstanceQuery query_for(const kube::Node& node) {
  return {.system_uuid = node.system_uuid,
          .name = node.meta.key.name,
          .internal_ips = internal_ips(node)};
}

}  // namespace isthmus::controllers
