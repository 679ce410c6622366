#include "isthmus/infra/unnamed_owners.h"

#include <array>
#include <cstddef>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace isthmus::infra {
namespace {

constexpr std::size_t kNamedMax = 8;  // Owners told by name.
constexpr std::array<std::string_view, 3> kKinds = {"load balancer", "target set", "route table"};

using Counts = std::array<std::size_t, kKinds.size()>;

std::string text_of(const std::string& owner, const Counts& counts) {
  std::vector<std::string> parts;
  for (std::size_t kind = 0; kind < kKinds.size(); ++kind) {
    if (counts[kind] == 0) continue;
    parts.push_back(
        fmt::format("{} {}{}", counts[kind], kKinds[kind], counts[kind] == 1 ? "" : "s"));
  }
  return fmt::format("{}: {}", owner, fmt::join(parts, ", "));
}

}  // namespace

std::optional<std::string> unnamed_owners(const LedgerSnapshot& snapshot, const Access& access) {
  std::map<std::string, Counts> unnamed;
  const auto count = [&unnamed, &access](const auto& records, std::size_t kind) {
    for (const auto& [name, record] : records) {
      if (!record->deleted_at && !access.names(name.owner)) ++unnamed[name.owner][kind];
    }
  };
  count(snapshot.balancers, 0);
  count(snapshot.target_sets, 1);
  count(snapshot.route_tables, 2);
  if (unnamed.empty()) return std::nullopt;
  std::vector<std::string> texts;
  for (const auto& [owner, counts] : unnamed) {
    if (texts.size() == kNamedMax) break;
    texts.push_back(text_of(owner, counts));
  }
  if (unnamed.size() > kNamedMax) {
    texts.push_back(fmt::format("{} more owners", unnamed.size() - kNamedMax));
  }
  return fmt::format("{}", fmt::join(texts, "; "));
}

}  // namespace isthmus::infra
