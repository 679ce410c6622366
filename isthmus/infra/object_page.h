// One page of an owner's objects, out of a snapshot.
#pragma once

#include <cstddef>
#include <string>

#include "isthmus/infra/ledger_records.h"
#include "isthmus/infra/object_requests.h"

namespace isthmus::infra {

// So much in the items of a page ends it early: as JSON, a target takes 100 bytes, so these are 5
// MB. The item that exceeds it is still in the page.
inline constexpr std::size_t kPageWeightMax = 50'000;

// Walks through the records of the owner from where the request goes on, in the order of their
// names, and calls `take(record)` for each that is selected, which answers how much it weighs.
// `is_there(record)` says which are to be shown at all, `metadata(record)` what they are called.
// Answers the continue token, empty after the last page.
template <class Records, class IsThere, class MetadataOf, class Take>
std::string walk_page(const Records& records, Revision revision, const std::string& owner,
                      const ListRequest& request, IsThere is_there, MetadataOf metadata,
                      Take take) {
  std::size_t taken = 0;
  std::size_t weight = 0;
  std::string last;
  auto next = records.upper_bound(ObjectName{owner, request.token ? request.token->after : ""});
  for (; next != records.end() && next->first.owner == owner; ++next) {
    const auto& record = *next->second;
    if (!is_there(record) || !request.selector.matches(metadata(record).labels)) continue;
    if (taken == request.limit || weight >= kPageWeightMax) {
      return PageToken{revision, last}.text(request.selector_text);
    }
    weight += 1 + take(record);
    ++taken;
    last = next->first.name;
  }
  return "";
}

}  // namespace isthmus::infra
