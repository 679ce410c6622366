// What the API server itself says there is, read whole: the second opinion before something is
// taken away because a watch no longer shows what it was made for.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "isthmus/kube/api/decode.h"
#include "isthmus/kube/api_door.h"
#include "isthmus/kube/list_all.h"

namespace isthmus::controllers {

// Gives `take` every object of a consistent list, page by page, without its annotations. What
// cannot be read is given as well: its name is known. Errors: the door's; lost where an answer is
// no page; and the first of `take`, which ends the reading.
template <class T>
Task<Result<>> read_live(kube::ApiDoor& api,
                         std::function<Result<>(const kube::Decoded<T>&)> take) {
  kube::Decoder decoder{{.keeps_annotation = [](std::string_view) { return false; }}};
  std::string token;
  do {
    std::string text = CO_TRY(co_await api.list(
        {.resource = T::resource, .limit = kube::kListPage, .continue_token = std::move(token)}));
    kube::ListPage<T> page = CO_TRY(decoder.page<T>(text));
    for (const kube::Decoded<T>& item : page.items) CO_TRY(take(item));
    token = std::move(page.continue_token);
  } while (!token.empty());
  co_return Result<>{};
}

}  // namespace isthmus::controllers
