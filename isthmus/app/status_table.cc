#include "isthmus/app/status_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "isthmus/base/duration.h"

namespace isthmus::app {
namespace {

namespace api = infra::api;
using api::ConditionStatus;
using Rows = std::vector<std::vector<std::string>>;

constexpr std::string_view kBelow = "  └ ";

template <class Items, class ToText>
std::string listed(const Items& items, ToText text) {
  std::string all;
  for (const auto& item : items) all += (all.empty() ? "" : ",") + std::string(text(item));
  return all.empty() ? "-" : all;
}

std::string addresses_of(const std::vector<IpAddress>& addresses) {
  return listed(addresses, [](const IpAddress& address) { return to_string(address); });
}

std::string or_dash(const std::string& text) { return text.empty() ? "-" : text; }

// Of a load balancer or a route table.
template <class Object>
std::string truth(const Object& object, std::string_view type) {
  const api::Condition* condition = find(object.status.conditions, type);
  return std::string(
      to_string(condition == nullptr ? ConditionStatus::unknown : condition->status));
}

std::string explained(const api::Condition& condition) {
  const std::string& message = condition.message;
  return fmt::format("{}{}: {}{}", kBelow, condition.type, condition.reason,
                     message.empty() ? "" : " (" + message + ")");
}

// Why it is not ready: the first of the conditions that Ready is made of which does not hold.
template <class Object>
std::string why_not_ready(const Object& object) {
  if (object.metadata.deletion_requested_at) {
    return fmt::format("{}leaving since {}", kBelow,
                       rfc3339(*object.metadata.deletion_requested_at));
  }
  for (std::string_view type : {api::condition::accepted, api::condition::address_allocated,
                                api::condition::programmed, api::condition::ready}) {
    const api::Condition* condition = find(object.status.conditions, type);
    if (condition != nullptr && condition->status != ConditionStatus::is_true) {
      return explained(*condition);
    }
  }
  return fmt::format("{}generation {} is not taken up yet", kBelow, object.metadata.generation);
}

void add_reasons(const api::LoadBalancer& balancer, Rows& rows) {
  if (!is_ready(balancer)) rows.push_back({why_not_ready(balancer)});
  const api::Condition* healthy = find(balancer.status.conditions, api::condition::targets_healthy);
  if (healthy != nullptr && healthy->status == ConditionStatus::is_false) {
    rows.push_back({explained(*healthy)});
  }
  for (std::string_view type :
       {api::condition::return_path_missing, api::condition::no_local_target}) {
    const api::Condition* bad = find(balancer.status.conditions, type);
    if (bad != nullptr && bad->status == ConditionStatus::is_true) {
      rows.push_back({explained(*bad)});
    }
  }
  if (balancer.status.last_repair) {
    rows.push_back(
        {fmt::format("{}last repaired {}: {}", kBelow, rfc3339(*balancer.status.last_repair),
                     or_dash(balancer.status.last_repair_reason))});
  }
}

std::string balancers_table(const StatusReport& report) {
  Rows rows{{"OWNER", "LOAD BALANCER", "ADDRESSES", "READY", "PROGRAMMED", "HEALTHY", "GENERATION",
             "REPAIRS"}};
  for (const api::LoadBalancer& balancer : report.balancers) {
    const api::LoadBalancerStatus& status = balancer.status;
    rows.push_back({balancer.metadata.owner, balancer.metadata.name, addresses_of(status.addresses),
                    truth(balancer, api::condition::ready),
                    truth(balancer, api::condition::programmed),
                    fmt::format("{}/{}", status.targets_healthy, status.targets),
                    fmt::format("{}/{}", status.applied_generation, balancer.metadata.generation),
                    std::to_string(status.repairs)});
    add_reasons(balancer, rows);
  }
  return rows.size() == 1 ? "No load balancers.\n" : aligned(rows);
}

std::string addresses_table(const StatusReport& report, WallTime now) {
  if (report.addresses.empty()) return "";
  Rows rows{{"ADDRESS", "STATE", "OWNER", "HOLDERS", "POOL", "HOST"}};
  for (const api::AllocatedAddress& address : report.addresses) {
    std::string state(to_string(address.state));
    if (address.free_at && *address.free_at > now) {
      auto left = std::chrono::ceil<std::chrono::seconds>(*address.free_at - now);
      state += ", free in " + format_duration(left);
    }
    rows.push_back({to_string(address.address), std::move(state), address.owner,
                    listed(address.holders, [](const std::string& name) { return name; }),
                    or_dash(address.pool), or_dash(address.host)});
  }
  return "\n" + aligned(rows);
}

std::string pools_table(const StatusReport& report) {
  if (report.pools.empty()) return "\nNo pools.\n";
  Rows rows{{"POOL", "FAMILY", "TOTAL", "HELD", "COOLING", "FREE", "RANGES"}};
  for (const api::Pool& pool : report.pools) {
    for (const api::PoolUse& use : pool.use) {
      std::vector<IpPrefix> ranges;
      std::ranges::copy_if(pool.ranges, std::back_inserter(ranges), [&use](const IpPrefix& range) {
        return range.address.family == use.family;
      });
      rows.push_back({pool.name, std::string(to_string(use.family)), std::to_string(use.total),
                      std::to_string(use.held), std::to_string(use.cooling),
                      std::to_string(use.free),
                      listed(ranges, [](const IpPrefix& range) { return to_string(range); })});
    }
  }
  return "\n" + aligned(rows);
}

std::string route_tables_table(const StatusReport& report) {
  if (report.route_tables.empty()) return "";
  Rows rows{
      {"OWNER", "ROUTE TABLE", "CLUSTER CIDRS", "READY", "PROGRAMMED", "APPLIED", "GENERATION"}};
  for (const api::RouteTable& table : report.route_tables) {
    const auto applied =
        std::ranges::count(table.status.routes, api::RouteState::applied, &api::RouteStatus::state);
    rows.push_back(
        {table.metadata.owner, table.metadata.name,
         listed(table.spec.cluster_cidrs, [](const IpPrefix& cidr) { return to_string(cidr); }),
         truth(table, api::condition::ready), truth(table, api::condition::programmed),
         fmt::format("{}/{}", applied, table.spec.routes.size()),
         fmt::format("{}/{}", table.status.applied_generation, table.metadata.generation)});
    if (!is_ready(table)) rows.push_back({why_not_ready(table)});
  }
  return "\n" + aligned(rows);
}

std::string orphans_table(const StatusReport& report) {
  if (!report.orphans || report.orphans->empty()) return "";
  Rows rows{{"OWNER", "ORPHAN", "ADDRESSES", "GENERATION"}};
  for (const api::Orphan& orphan : *report.orphans) {
    rows.push_back({orphan.owner, orphan.name, addresses_of(orphan.addresses),
                    std::to_string(orphan.generation)});
    rows.push_back({orphan.abandoned
                        ? fmt::format("{}given up: the host is removing it", kBelow)
                        : fmt::format("{}the host holds it and the store does not know it: a PUT "
                                      "of its name adopts it, DELETE /v1/orphans/{}/{} removes it",
                                      kBelow, orphan.owner, orphan.name)});
  }
  return "\n" + aligned(rows);
}

std::string printable(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, '?');
  return text;
}

}  // namespace

std::string aligned(const Rows& rows) {
  std::vector<std::size_t> widths(rows.empty() ? 0 : rows.front().size(), 0);
  for (const std::vector<std::string>& row : rows) {
    for (std::size_t i = 0; row.size() > 1 && i < row.size(); ++i) {
      widths.at(i) = std::max(widths.at(i), row[i].size());
    }
  }
  std::string text;
  for (const std::vector<std::string>& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const bool last = i + 1 == row.size();
      line += printable(row[i]);
      if (!last) line += std::string(widths.at(i) - row[i].size() + 2, ' ');
    }
    text += line + "\n";
  }
  return text;
}

std::string status_table(const StatusReport& report, WallTime now) {
  std::string text = balancers_table(report) + addresses_table(report, now) + pools_table(report) +
                     route_tables_table(report) + orphans_table(report);
  if (report.not_understood != 0) {
    text += fmt::format("\n{} items of the answer were not understood and are not shown.\n",
                        report.not_understood);
  }
  return text;
}

}  // namespace isthmus::app
