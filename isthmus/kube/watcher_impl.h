// The templates of watcher.h; include that instead.
#pragma once

#include "isthmus/kube/status_error.h"
#include "isthmus/kube/watcher.h"

namespace isthmus::kube {

template <class T>
Result<watching::PageRead> StoreSink<T>::page(std::string text) {
  ListPage<T> read = TRY(decoder_.template page<T>(text));
  page_ = std::move(read.items);
  return watching::PageRead{std::move(read.resource_version), std::move(read.continue_token)};
}

template <class T>
watching::Input StoreSink<T>::line(std::string text) {
  Result<WatchEvent<T>> event = decoder_.template watch_line<T>(text);
  if (!event) return watching::Garbled{std::move(event.error())};
  if (auto* bookmark = std::get_if<Bookmark>(&*event)) {
    return watching::Marked{std::move(bookmark->resource_version), bookmark->initial_events_end};
  }
  if (const auto* status = std::get_if<Status>(&*event)) {
    return watching::Refused{error_of(*status, {T::resource, {}})};
  }
  change_ = std::move(std::get<Change<T>>(*event));
  return watching::Arrived{change_.item.resource_version};
}

template <class T>
void StoreSink<T>::perform(watching::Effect effect) {
  switch (effect) {
    case watching::Effect::none:
      return;
    case watching::Effect::collect:
      return collect();
    case watching::Effect::apply:
      return store_.apply(std::exchange(change_, {}));
    case watching::Effect::discard:
      page_.clear();
      collected_.clear();
      change_ = {};
      return;
    case watching::Effect::publish: {
      collect();
      std::vector<Decoded<T>> all;
      all.reserve(collected_.size());
      for (auto& [key, item] : std::exchange(collected_, {})) all.push_back(std::move(item));
      return store_.replace(std::move(all));
    }
  }
}

// Either a page or one change is held, never both: a watcher does not page while it streams.
template <class T>
void StoreSink<T>::collect() {
  for (Decoded<T>& item : std::exchange(page_, {})) {
    const ObjectKey key = item.key;
    collected_.insert_or_assign(key, std::move(item));
  }
  if (change_.item.key == ObjectKey{}) return;
  Change<T> change = std::exchange(change_, {});
  if (change.kind == ChangeKind::deleted) {
    collected_.erase(change.item.key);
  } else {
    const ObjectKey key = change.item.key;
    collected_.insert_or_assign(key, std::move(change.item));
  }
}

}  // namespace isthmus::kube
