#include "isthmus/controllers/source_ranges.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "isthmus/base/text.h"
#include "isthmus/controllers/service_addresses.h"

namespace isthmus::controllers {
namespace {

constexpr std::size_t kRangesMax = 500;  // Of one load balancer: the backend's limit.

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// "010.1" is "10.1": of a number of zeros only the last digit stays.
std::string without_leading_zeros(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool begins = i == 0 || !is_digit(text[i - 1]);
    if (begins) {
      while (i + 1 < text.size() && text[i] == '0' && is_digit(text[i + 1])) ++i;
    }
    result += text[i];
  }
  return result;
}

std::string_view everyone_of(IpFamily family) {
  return family == IpFamily::v4 ? "0.0.0.0/0" : "::/0";
}

// What was written, and where.
struct Written {
  std::string_view where;
  std::vector<std::string_view> ranges;
};

Written written_ranges(const kube::Service& service) {
  if (!service.load_balancer_source_ranges.empty()) {
    return {
        "spec.loadBalancerSourceRanges",
        {service.load_balancer_source_ranges.begin(), service.load_balancer_source_ranges.end()}};
  }
  const std::string_view annotation =
      trimmed(service.meta.annotations.find(kSourceRangesAnnotation).value_or(""));
  if (annotation.empty()) return {};
  return {kSourceRangesAnnotation, split(annotation, ',')};
}

std::set<IpPrefix> read_ranges(const Written& written, Complaints& complaints) {
  std::set<IpPrefix> ranges;
  if (written.ranges.size() > kRangesMax) {
    complaints.add(complaint::source_ranges,
                   fmt::format("{}: at most {} ranges are possible, found {}", written.where,
                               kRangesMax, written.ranges.size()));
    return ranges;
  }
  std::vector<std::string> wrong;
  for (const std::string_view text : written.ranges) {
    if (const Result<IpPrefix> range = parse_source_range(text)) {
      ranges.insert(*range);
    } else {
      wrong.push_back(shown(text));
    }
  }
  if (!wrong.empty()) {
    complaints.add(complaint::source_ranges,
                   fmt::format("{}: expected ranges like 192.0.2.0/24 or 2001:db8::/32, found {}",
                               written.where, some_of(wrong)));
  }
  return ranges;
}

}  // namespace

Result<IpPrefix> parse_source_range(std::string_view text) {
  const std::string_view range = trimmed(text);
  const std::size_t slash = range.find('/');
  if (slash != std::string_view::npos) {
    const std::string_view before = range.substr(0, slash);
    const bool is_v6 = before.find(':') != std::string_view::npos;
    const Result<IpAddress> address =
        parse_ip(is_v6 ? std::string(before) : without_leading_zeros(before));
    unsigned bits = 0;
    const char* end = range.data() + range.size();
    const auto [stop, error] = std::from_chars(range.data() + slash + 1, end, bits);
    if (address && error == std::errc() && stop == end && bits <= address->size() * 8) {
      return prefix_around(*address, static_cast<std::uint8_t>(bits));
    }
  }
  return fail(Outcome::invalid, shown(text) + " is not a range like 192.0.2.0/24");
}

SourceRanges source_ranges(const kube::Service& service, const std::vector<IpFamily>& families,
                           Complaints& complaints) {
  const Written written = written_ranges(service);
  if (written.ranges.empty()) return {};
  Complaints found;
  const std::set<IpPrefix> ranges = read_ranges(written, found);
  if (!found.empty()) {
    complaints.add(found.refusal().reason, found.refusal().message);
    return {};
  }
  SourceRanges result;
  bool is_everyone = true;
  for (const IpFamily family : families) {
    const std::size_t before = result.allowed.size();
    bool is_open = false;
    for (const IpPrefix& range : ranges) {
      if (range.address.family != family) continue;
      result.allowed.push_back(range);
      is_open = is_open || range.bits == 0;
    }
    if (result.allowed.size() == before) result.closed.push_back(family);
    is_everyone = is_everyone && is_open;
  }
  if (result.closed.size() == families.size()) {
    complaints.add(
        complaint::source_ranges,
        fmt::format("{}: none of the ranges is {}, so nobody could use the load balancer; add {} "
                    "to let everyone in",
                    written.where, to_string(families.front()), everyone_of(families.front())));
    return {};
  }
  if (is_everyone) result.allowed.clear();
  std::ranges::sort(result.allowed);
  return result;
}

}  // namespace isthmus::controllers
