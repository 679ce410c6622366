// What a cloud would have by now, if what was only said had been done: for a dry run.
//
// A thing is shown as it was imagined for as long as the real one stays as it was then; the moment
// it changes, what is real is shown again, and whoever looks decides anew.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace isthmus::cloud {

// Some kilobytes each; beyond that what was imagined is forgotten, and told of again.
inline constexpr std::size_t kImaginedMax = 10'000;

// A resource: things of one kind by their names.
template <class T>
class Imagination {
 public:
  // Whether two looks at a real thing show the same.
  using Same = bool (*)(const T& before, const T& now);

  explicit Imagination(Same same) : same_(same) {}

  // The thing is `shown` (nullopt: gone) instead of what is `real` now (nullopt: there is none).
  // Answers whether `what`, the wish in words, is another one than was told of it last.
  bool imagine(const std::string& name, std::optional<T> real, std::optional<T> shown,
               std::string what) {
    if (things_.size() >= kImaginedMax) things_.clear();
    Thing& thing = things_[name];
    const bool is_news = std::exchange(thing.told, what) != what;
    thing.real = std::move(real);
    thing.shown = std::move(shown);
    thing.counts = true;
    return is_news;
  }

  // Nothing is to be done: what is real is shown, and the next wish is told whatever it is.
  void forget(const std::string& name) { things_.erase(name); }

  // What is shown where this is real.
  std::optional<T> look(const std::string& name, std::optional<T> real) {
    const auto found = things_.find(name);
    if (found == things_.end() || !found->second.counts) return real;
    Thing& thing = found->second;
    const bool is_as_it_was = thing.real ? real && same_(*thing.real, *real) : !real;
    if (is_as_it_was) return thing.shown;
    thing.counts = false;
    return real;
  }

  // The same for all that is real, in the order of what is listed; what is only imagined comes
  // last. `name_of(thing)` is its name.
  template <class NameOf>
  std::vector<T> look_over(std::vector<T> real, NameOf name_of) {
    std::map<std::string, bool> listed;
    std::vector<T> shown;
    for (T& each : real) {
      const std::string name = name_of(each);
      listed[name] = true;
      if (std::optional<T> seen = look(name, std::move(each))) shown.push_back(*std::move(seen));
    }
    for (const auto& [name, thing] : things_) {
      if (listed.contains(name) || !thing.counts || thing.real || !thing.shown) continue;
      shown.push_back(*thing.shown);
    }
    return shown;
  }

 private:
  struct Thing {
    std::optional<T> real = {};
    std::optional<T> shown = {};
    bool counts = false;  // False: the real one has changed since.
    std::string told = {};
  };

  const Same same_;
  std::map<std::string, Thing> things_;
};

}  // namespace isthmus::cloud
