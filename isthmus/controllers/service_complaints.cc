#include "isthmus/controllers/service_complaints.h"

#include <algorithm>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "isthmus/base/text.h"

namespace isthmus::controllers {
namespace {

constexpr std::size_t kNamedMax = 5;
constexpr std::size_t kShownBytesMax = 80;

}  // namespace

void Complaints::add(std::string_view reason, std::string_view what) {
  if (refusal_.reason.empty()) refusal_.reason = reason;
  if (!refusal_.message.empty()) refusal_.message += "; ";
  refusal_.message += what;
}

std::string shown(std::string_view text) { return quoted(shortened(text, kShownBytesMax)); }

std::string some_of(const std::vector<std::string>& names) {
  const auto first = std::span(names).first(std::min(names.size(), kNamedMax));
  const std::string text = fmt::format("{}", fmt::join(first, ", "));
  if (first.size() == names.size()) return text;
  return fmt::format("{} and {} more", text, names.size() - first.size());
}

}  // namespace isthmus::controllers
