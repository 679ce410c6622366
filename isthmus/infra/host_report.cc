#include "isthmus/infra/host_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <tuple>
#include <vector>

#include "isthmus/infra/balancer_status.h"

namespace isthmus::infra {
namespace {

// Of Programmed, those that speak of the host and not of one load balancer.
constexpr std::array kOfTheHost = {reason::forwarding_off, reason::link_down, reason::foreign_table,
                                   reason::not_permitted, reason::unsupported};

struct Concerned {
  std::size_t count = 0;
  const api::Condition* first = nullptr;
};

}  // namespace

std::optional<std::string> host_trouble(const LedgerSnapshot& snapshot) {
  std::map<std::string_view, Concerned> by_reason;
  for (const auto& [name, record] : snapshot.balancers) {
    const StatusRecord* status = record->is_tombstone() ? nullptr : snapshot.status(name);
    if (status == nullptr) continue;
    const api::Condition* programmed =
        api::find(status->status.conditions, api::condition::programmed);
    if (programmed == nullptr || programmed->status != api::ConditionStatus::is_false) continue;
    if (std::ranges::find(kOfTheHost, programmed->reason) == kOfTheHost.end()) continue;
    Concerned& concerned = by_reason[programmed->reason];
    if (concerned.count++ == 0) concerned.first = programmed;
  }
  if (by_reason.empty()) return std::nullopt;
  std::vector<Concerned> sorted;
  for (const auto& [reason, concerned] : by_reason) sorted.push_back(concerned);
  std::ranges::sort(sorted, [](const Concerned& left, const Concerned& right) {
    return std::tie(right.count, left.first->reason) < std::tie(left.count, right.first->reason);
  });
  std::vector<std::string> texts;
  for (const Concerned& one : sorted) {
    texts.push_back(fmt::format("{}{}: {}, {}", one.count,
                                !texts.empty()   ? ""
                                : one.count == 1 ? " load balancer is not served"
                                                 : " load balancers are not served",
                                one.first->reason, one.first->message));
  }
  return fmt::format("{}", fmt::join(texts, "; "));
}

}  // namespace isthmus::infra
