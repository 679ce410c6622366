// The templates of store.h; include that instead.
#pragma once

#include "isthmus/kube/store.h"

namespace isthmus::kube {

template <class T>
Snapshot<T> Store<T>::find(const ObjectKey& key) const {
  const auto found = objects_.find(key);
  return found == objects_.end() ? nullptr : found->second;
}

template <class T>
std::optional<std::string_view> Store<T>::unreadable(const ObjectKey& key) const {
  const auto found = unreadable_.find(key);
  if (found == unreadable_.end()) return std::nullopt;
  return found->second;
}

template <class T>
void Store<T>::subscribe(Subscriber subscriber) {
  for (const auto& [key, object] : objects_) subscriber({key, nullptr, object, true});
  subscribers_.push_back(std::move(subscriber));
}

// Deletions are collected apart from the rest, so that all of them can be published first.
template <class T>
void Store<T>::replace(std::vector<Decoded<T>> items) {
  const std::map<ObjectKey, Snapshot<T>> old = std::exchange(objects_, {});
  const std::map<ObjectKey, std::string> old_reasons = std::exchange(unreadable_, {});
  for (Decoded<T>& item : items) take(old, std::move(item));

  std::vector<Difference<T>> gone;
  std::vector<Difference<T>> come;
  for (const auto& [key, before] : old) compare(key, before, find(key), gone, come);
  for (const auto& [key, after] : objects_) {
    if (!old.contains(key)) compare(key, nullptr, after, gone, come);
  }
  const bool initial = !synced_.is_set();
  for (Difference<T>& difference : come) difference.initial = initial;
  synced_.set();
  publish(gone);
  publish(come);
}

template <class T>
void Store<T>::apply(Change<T> change) {
  const ObjectKey key = change.item.key;
  const Snapshot<T> before = find(key);
  if (change.kind == ChangeKind::deleted) {
    objects_.erase(key);
    unreadable_.erase(key);
  } else {
    std::map<ObjectKey, Snapshot<T>> old;
    if (before) old.emplace(key, before);
    objects_.erase(key);
    take(old, std::move(change.item));
  }
  std::vector<Difference<T>> gone;
  std::vector<Difference<T>> come;
  compare(key, before, find(key), gone, come);
  publish(gone);
  publish(come);
}

// An unreadable item keeps the last good snapshot only while it may still be the same object.
template <class T>
void Store<T>::take(const std::map<ObjectKey, Snapshot<T>>& old, Decoded<T> item) {
  const auto known = old.find(item.key);
  if (item.object) {
    unreadable_.erase(item.key);
    const bool is_news = known == old.end() || known->second->meta.uid != item.object->meta.uid ||
                         known->second->meta.resource_version != item.object->meta.resource_version;
    objects_[item.key] =
        is_news ? std::make_shared<const T>(*std::move(item.object)) : known->second;
    return;
  }
  unreadable_[item.key] = item.object.error().message;
  if (known == old.end()) return;
  const bool is_namesake = !item.uid.empty() && item.uid != known->second->meta.uid;
  if (!is_namesake) objects_[item.key] = known->second;
}

template <class T>
void Store<T>::compare(const ObjectKey& key, Snapshot<T> before, Snapshot<T> after,
                       std::vector<Difference<T>>& gone, std::vector<Difference<T>>& come) const {
  if (before == after) return;  // The same snapshot is kept for what is no news.
  if (!after) {
    gone.push_back({key, std::move(before), nullptr});
  } else if (before && before->meta.uid != after->meta.uid) {
    gone.push_back({key, std::move(before), nullptr});
    come.push_back({key, nullptr, std::move(after)});
  } else {
    come.push_back({key, std::move(before), std::move(after)});
  }
}

template <class T>
void Store<T>::publish(const std::vector<Difference<T>>& differences) {
  for (const Difference<T>& difference : differences) {
    for (const Subscriber& subscriber : subscribers_) subscriber(difference);
  }
}

}  // namespace isthmus::kube
