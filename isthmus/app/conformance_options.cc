#include "isthmus/app/conformance_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "isthmus/base/ip.h"
#include "isthmus/base/text.h"
#include "isthmus/infra/api/rules.h"

namespace isthmus::app {
namespace {

// The words of a list with commas, none of which is empty.
std::vector<std::string_view> words(std::string_view list) {
  std::vector<std::string_view> found;
  for (std::string_view word : split(list, ',')) {
    if (!trimmed(word).empty()) found.push_back(trimmed(word));
  }
  return found;
}

std::vector<IpFamily> read_families(std::string_view list, Mistakes& mistakes) {
  std::vector<IpFamily> families;
  for (std::string_view word : words(list)) {
    if (word != "IPv4" && word != "IPv6") {
      mistakes.add("--families", fmt::format("{} is neither IPv4 nor IPv6", quoted(word)));
      continue;
    }
    const IpFamily family = word == "IPv4" ? IpFamily::v4 : IpFamily::v6;
    if (std::ranges::find(families, family) != families.end()) {
      mistakes.add("--families", fmt::format("names {} twice", word));
      continue;
    }
    families.push_back(family);
  }
  if (families.empty()) mistakes.add("--families", "expected IPv4, IPv6 or both");
  return families;
}

std::vector<IpAddress> read_addresses(std::string_view list, Mistakes& mistakes) {
  std::vector<IpAddress> addresses;
  for (std::string_view word : words(list)) {
    const Result<IpAddress> address = parse_ip(word);
    if (address) {
      addresses.push_back(*address);
    } else {
      mistakes.add("--target-addresses", address.error().message);
    }
  }
  return addresses;
}

// The test has room for sixteen routes in each.
std::vector<IpPrefix> read_ranges(std::string_view list, Mistakes& mistakes) {
  std::vector<IpPrefix> ranges;
  for (std::string_view word : words(list)) {
    const Result<IpPrefix> range = parse_prefix(word);
    if (!range) {
      mistakes.add("--route-ranges", range.error().message);
      continue;
    }
    const std::uint8_t most = range->address.family == IpFamily::v4 ? 24 : 56;
    if (range->bits == 0 || range->bits > most) {
      mistakes.add("--route-ranges", fmt::format("{} is not of 1 to {} bits", word, most));
    }
    ranges.push_back(*range);
  }
  return ranges;
}

// The test sends to three machines, in each family.
void check_targets(const std::vector<IpAddress>& addresses, const std::vector<IpFamily>& families,
                   Mistakes& mistakes) {
  if (addresses.empty()) return;
  for (IpFamily family : families) {
    if (std::ranges::count(addresses, family, &IpAddress::family) < 3) {
      mistakes.add("--target-addresses",
                   fmt::format("names fewer than three {} addresses", to_string(family)));
    }
  }
}

}  // namespace

FlagTable conformance_flags(ConformanceFlags& flags) {
  FlagTable table(
      "isthmus conformance --url URL --token-file FILE [flags]",
      "Tests whether a cloud that serves the infrastructure API keeps the contract that "
      "the manager relies on. It makes load balancers, a target set and routes of its own, "
      "never touches anything else, and takes them away again, also when it is "
      "stopped.\n"
      "Exit code 0: everything that was tested is kept. 1: something is not, or is left "
      "behind. 2: bad flags.");
  const std::string where = "Where to ask";
  table.text("url", flags.url, where,
             fmt::format("The cloud's address: unix:///PATH, https://HOST:PORT or "
                         "http://127.0.0.1:PORT; unix://{} when nothing is said.",
                         kDefaultSocket));
  table.text("ca-file", flags.ca_file, where,
             "Certificates that an https server is trusted by; the system's when empty.");
  const std::string who = "Who asks";
  table.text("token-file", flags.token_file, who, "File with the token of an owner.");
  table.text("owner", flags.owner, who,
             "The owner to act for, if the token is the administrators'.");
  table.text("other-token-file", flags.other_token_file, who,
             "File with the token of another owner, who must not see or change what the first one "
             "makes; without it this is not tested.");
  const std::string what = "What to work with";
  table.text("pool", flags.pool, what,
             "The pool to take addresses from, at most three at a time; the cloud's choice when "
             "empty.");
  table.text("families", flags.families, what,
             "IPv4, IPv6, or both with a comma: the address families of the load balancers.");
  table.text(
      "target-addresses", flags.target_addresses, what,
      "Where the load balancers send to: at least three addresses of each family, with commas. "
      "Nothing has to answer there; addresses for documentation when empty.");
  table.text("route-ranges", flags.route_ranges, what,
             "Where the routes lie: networks that nobody uses, with commas, of at most 24 bits for "
             "IPv4 and 56 for IPv6; ranges for documentation when empty.");
  table.positive_duration("patience", flags.patience, what,
                          "How long to wait until something is ready, or gone.");
  return table;
}

StatusTarget conformance_target(Files& files, const ConformanceFlags& flags, Mistakes& mistakes) {
  if (!flags.owner.empty()) {
    if (auto wrong = infra::api::wrong_name(flags.owner)) mistakes.add("--owner", *wrong);
  }
  StatusOptions asked;
  asked.url = flags.url;
  asked.ca_file = flags.ca_file;
  asked.token_file = flags.token_file;
  return status_target(files, asked, mistakes);
}

cloud::ConformanceOptions conformance_options(const ConformanceFlags& flags, Mistakes& mistakes) {
  cloud::ConformanceOptions options{.pool = flags.pool, .patience = flags.patience};
  options.families = read_families(flags.families, mistakes);
  options.target_addresses = read_addresses(flags.target_addresses, mistakes);
  check_targets(options.target_addresses, options.families, mistakes);
  options.route_ranges = read_ranges(flags.route_ranges, mistakes);
  return options;
}

}  // namespace isthmus::app
