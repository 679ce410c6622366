#include "isthmus/base/mistakes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace isthmus {

void Mistakes::add(std::string_view where, std::string_view what) {
  ++count_;
  if (list_.size() == kListedMax) return;
  list_.push_back(where.empty() ? std::string(what) : fmt::format("{}: {}", where, what));
}

std::string Mistakes::text() const {
  std::string text = fmt::format("{}", fmt::join(list_, "\n"));
  if (count_ > list_.size()) text += fmt::format("\nand {} more", count_ - list_.size());
  return text;
}

Result<> Mistakes::result() const {
  if (empty()) return {};
  return fail(Outcome::invalid, text());
}

}  // namespace isthmus
