// All objects of a type in one answer, for those who look once and do not watch.
#pragma once

#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "isthmus/base/result.h"
#include "isthmus/base/task.h"
#include "isthmus/kube/api/decode.h"
#include "isthmus/kube/api_door.h"

namespace isthmus::kube {

// 500 Nodes of 15 KB are a page of 7 MB, upstream's size.
inline constexpr std::int64_t kListPage = 500;

// A server that forgets the pages' version so often while we read them is asked no further.
inline constexpr int kListTriesMax = 3;

// The whole list, page by page, in one version. `only` is as in ListRequest. Errors: those of the
// door, and of the decoder; conflict where the server kept forgetting that version.
template <class T>
Task<Result<std::vector<Decoded<T>>>> list_all(ApiDoor& api, Projection projection = {},
                                               ObjectKey only = {}) {
  Decoder decoder(projection);
  std::vector<Decoded<T>> items;
  std::string token;
  for (int tries = 1;;) {
    Result<std::string> text = co_await api.list(
        {.resource = T::resource, .limit = kListPage, .continue_token = token, .only = only});
    if (text.outcome() == Outcome::conflict && !token.empty() && tries++ < kListTriesMax) {
      items.clear();
      token.clear();
      continue;
    }
    if (!text) co_return std::unexpected(std::move(text).error());
    ListPage<T> page = CO_TRY(decoder.page<T>(*text));
    items.insert(items.end(), std::make_move_iterator(page.items.begin()),
                 std::make_move_iterator(page.items.end()));
    token = std::move(page.continue_token);
    if (token.empty()) co_return items;
  }
}

}  // namespace isthmus::kube
