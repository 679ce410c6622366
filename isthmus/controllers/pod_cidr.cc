#include "isthmus/controllers/pod_cidr.h"

#include <charconv>

#include <fmt/format.h>

#include "isthmus/base/mistakes.h"
#include "isthmus/base/text.h"

namespace isthmus::controllers {

Result<IpPrefix> parse_pod_cidr(std::string_view text) {
  const std::size_t slash = text.find('/');
  const Result<IpAddress> address = parse_ip(text.substr(0, slash));
  unsigned bits = 0;
  if (address && slash != text.npos) {
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data() + slash + 1, end, bits);
    if (error == std::errc() && stop == end && bits > 0 && bits <= address->size() * 8) {
      return prefix_around(*address, static_cast<std::uint8_t>(bits));
    }
  }
  return fail(Outcome::invalid,
              fmt::format("{} is no CIDR like 10.244.0.0/16 or fd00:10:244::/56", quoted(text)));
}

Result<std::vector<IpPrefix>> parse_cluster_cidrs(std::string_view text) {
  std::vector<IpPrefix> cidrs;
  if (trimmed(text).empty()) return cidrs;
  const auto parts = split(text, ',');
  std::vector<std::string> wrong;
  for (const std::string_view part : parts) {
    const Result<IpPrefix> cidr = parse_pod_cidr(trimmed(part));
    if (cidr) {
      cidrs.push_back(*cidr);
    } else {
      wrong.push_back(cidr.error().message);
    }
  }
  const bool same_family = cidrs.size() == 2 && cidrs[0].address.family == cidrs[1].address.family;
  if (parts.size() > 2 || same_family) {
    wrong.emplace_back("one CIDR, or one of each family, is what a cluster has");
  }
  if (!wrong.empty()) return fail(Outcome::invalid, fmt::format("{}", fmt::join(wrong, "; ")));
  return cidrs;
}

std::string describe(const std::vector<IpPrefix>& prefixes) {
  std::string text;
  for (const IpPrefix& prefix : prefixes) {
    text += (text.empty() ? "" : ", ") + to_string(prefix);
  }
  return text;
}

bool overlap(const IpPrefix& one, const IpPrefix& other) {
  return one.contains(other) || other.contains(one);
}

}  // namespace isthmus::controllers
