// Lists that come page by page, read whole.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "isthmus/base/result.h"
#include "isthmus/base/task.h"
#include "isthmus/cloud/model.h"

namespace isthmus::providers::infra {

// Pages of one list: 1,000 pages of 1,000 machines are far beyond any cluster, and an endless list
// is a broken server.
inline constexpr int kPagesMax = 1000;

struct PagesRead {
  cloud::Completeness completeness = cloud::Completeness::complete;
  std::uint64_t revision = 0;  // Of the first page; where the list is complete, of all.
};

// Asks for page after page, with the token of the one before, and hands each item on. `take`
// answers whether it belongs into one consistent view: what was there already does not.
//
// Partial: an item that does not belong, pages of different revisions, or an item that could not
// be understood, of which nobody knows who stands behind it. Errors are those of `fetch`; lost also
// for a list without end.
template <class Page>
Task<Result<PagesRead>> read_pages(
    std::function<Task<Result<Page>>(std::string token)> fetch,
    std::function<bool(typename decltype(Page::items)::value_type item)> take) {
  PagesRead read;
  std::string token;
  for (int page_number = 0; page_number < kPagesMax; ++page_number) {
    Page page = CO_TRY(co_await fetch(std::move(token)));
    if (page_number == 0) read.revision = page.revision;
    bool is_consistent = page.revision == read.revision && page.not_understood == 0;
    for (auto& item : page.items) is_consistent = take(std::move(item)) && is_consistent;
    if (!is_consistent) read.completeness = cloud::Completeness::partial;
    token = std::move(page.continue_token);
    if (token.empty()) co_return read;
  }
  co_return fail(Outcome::lost, "a list of more than " + std::to_string(kPagesMax) + " pages");
}

}  // namespace isthmus::providers::infra
