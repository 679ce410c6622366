#include "isthmus/infra/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "isthmus/base/text.h"
#include "isthmus/infra/allocator_view.h"
#include "isthmus/infra/api/rules.h"
#include "isthmus/infra/yaml_reader.h"
#include "isthmus/net/http.h"

namespace isthmus::infra {
namespace {

using Kind = net::ListenAddress::Kind;

// Of a plain http listener: nobody outside the machine can reach it, so no token can be overheard.
bool is_loopback(std::string_view host) { return host == "[::1]" || net::is_loopback(host); }

void read_listen(YamlReader& file, Config& config) {
  YamlReader list = file.required("listen");
  std::vector<YamlReader> elements = list.elements(kListenMax);
  std::set<std::string> seen;
  for (YamlReader& element : elements) {
    std::string text = element.text();
    if (text.empty()) continue;
    if (!seen.insert(text).second) element.refuse("is given twice");
    Result<net::ListenAddress> address = net::parse_listen_address(text);
    if (!address) {
      element.refuse_plainly(address.error().message);
      continue;
    }
    if (address->kind == Kind::http && !is_loopback(address->host_or_path)) {
      element.refuse("plain http is served on loopback only; use https, or a unix socket");
    }
    config.listen.push_back(std::move(*address));
  }
  if (elements.empty() && !list.missing()) list.refuse_plainly("expected at least one address");
}

bool listens(const Config& config, Kind kind) {
  return std::ranges::find(config.listen, kind, &net::ListenAddress::kind) != config.listen.end();
}

void read_tls(YamlReader& file, Config& config) {
  std::optional<YamlReader> tls = file.optional("tls");
  bool https = listens(config, Kind::https);
  if (!tls) {
    if (https) file.required("tls", "something listens on https");
    return;
  }
  config.tls = TlsFiles{tls->required("certFile").text(), tls->required("keyFile").text()};
  tls->no_other_keys();
  if (!https) tls->refuse_plainly("nothing listens on https");
}

void read_store(YamlReader& file, Config& config) {
  YamlReader store = file.required("store");
  config.sqlite = store.required("sqlite").text();
  store.no_other_keys();
}

void read_host(YamlReader& file, Config& config) {
  std::optional<YamlReader> host = file.optional("host");
  if (!host) return;
  HostConfig read;
  YamlReader name = host->required("name");
  read.name = name.text();
  auto mistake = read.name.empty() ? std::nullopt : api::wrong_name(read.name);
  if (mistake) name.refuse(*mistake);
  if (host->required("driver").choice({"nft", "announce"}) == "announce") {
    read.driver = HostConfig::Driver::announce;
  }
  if (std::optional<YamlReader> probe = host->optional("probe")) {
    read.probe = probe->duration();
    if (read.probe < kProbeMin || read.probe > kProbeMax) {
      probe->refuse("expected a time from 10ms to 10s");
    }
  }
  host->no_other_keys();
  config.host = std::move(read);
}

// The fewest prefixes that are exactly the addresses from the one to the other.
std::vector<IpPrefix> prefixes_between(IpAddress from, const IpAddress& to) {
  std::vector<IpPrefix> prefixes;
  while (true) {
    IpPrefix widest{from, static_cast<std::uint8_t>(from.size() * 8)};
    for (std::uint8_t bits = widest.bits; bits > 0; --bits) {
      const IpPrefix wider{from, static_cast<std::uint8_t>(bits - 1)};
      if (!wider.contains(from) || wider.last() > to) break;
      widest = wider;
    }
    prefixes.push_back(widest);
    if (widest.last() == to) return prefixes;
    from = next(widest.last());
  }
}

// "192.0.2.0/28", or "192.0.2.40-192.0.2.50".
Result<std::vector<IpPrefix>> parse_range(std::string_view text) {
  if (text.starts_with("::ffff:")) {
    return fail(Outcome::invalid, "IPv4 addresses are written as such, not mapped to IPv6");
  }
  const std::size_t dash = text.find('-');
  if (dash == std::string_view::npos) return std::vector{TRY(parse_prefix(text))};
  const IpAddress from = TRY(parse_ip(trimmed(text.substr(0, dash))));
  const IpAddress to = TRY(parse_ip(trimmed(text.substr(dash + 1))));
  if (from.family != to.family || from > to) {
    return fail(Outcome::invalid,
                fmt::format("{} does not come before {}", to_string(from), to_string(to)));
  }
  return prefixes_between(from, to);
}

struct RangeInFile {
  IpPrefix range;
  std::string pool;
  YamlReader reader;
};

void read_ranges(YamlReader& pool, api::Pool& read, std::vector<RangeInFile>& ranges) {
  YamlReader list = pool.required("ranges");
  std::vector<YamlReader> elements = list.elements(kRangesMax);
  if (elements.empty() && !list.missing()) list.refuse_plainly("expected at least one range");
  for (YamlReader& element : elements) {
    const std::string text = element.text();
    if (text.empty()) continue;
    Result<std::vector<IpPrefix>> parsed = parse_range(text);
    if (!parsed) {
      element.refuse_plainly(parsed.error().message);
      continue;
    }
    for (const IpPrefix& range : *parsed) {
      if (auto mistake = api::wrong_network(range)) element.refuse_plainly(*mistake);
      read.ranges.push_back(range);
      ranges.push_back({range, read.name, element});
    }
  }
  if (read.ranges.size() > kRangesMax) {
    list.refuse_plainly(fmt::format("is made of {} prefixes; at most {} are allowed",
                                    read.ranges.size(), kRangesMax));
  }
}

// Prefixes are nested or apart, so in the order of their first addresses, wider ones first, one
// that overlaps any before it lies in the last that lay in none.
void refuse_overlaps(std::vector<RangeInFile> ranges) {
  std::ranges::sort(ranges, {}, &RangeInFile::range);
  RangeInFile* outer = nullptr;
  for (RangeInFile& range : ranges) {
    if (outer == nullptr || !outer->range.contains(range.range)) {
      outer = &range;
      continue;
    }
    bool is_later = range.reader.line() >= outer->reader.line();
    RangeInFile& later = is_later ? range : *outer;
    const RangeInFile& earlier = is_later ? *outer : range;
    later.reader.refuse(fmt::format("overlaps {} of pool {} in line {}", to_string(earlier.range),
                                    earlier.pool, earlier.reader.line()));
  }
}

// As the kernel has it (IFNAMSIZ, dev_valid_name).
bool is_interface_name(std::string_view text) {
  bool visible = std::ranges::all_of(
      text, [](char c) { return c > ' ' && c < '\x7f' && c != '/' && c != ':'; });
  return visible && text.size() <= 15 && text != "." && text != "..";
}

api::Pool read_pool(YamlReader& element, std::vector<RangeInFile>& ranges) {
  api::Pool pool;
  YamlReader name = element.required("name");
  pool.name = name.text();
  auto mistake = pool.name.empty() ? std::nullopt : api::wrong_object_name(pool.name);
  if (mistake) name.refuse(*mistake);
  read_ranges(element, pool, ranges);
  if (std::optional<YamlReader> interface = element.optional("interface")) {
    pool.interface = interface->text();
    if (!is_interface_name(pool.interface)) interface->refuse("expected the name of an interface");
  }
  if (std::optional<YamlReader> cool_down = element.optional("coolDown")) {
    pool.cool_down = cool_down->duration();
    if (pool.cool_down == Duration::zero() || pool.cool_down > kCoolDownMax) {
      cool_down->refuse("expected a time above 0s and up to 24h");
    }
  }
  if (std::optional<YamlReader> assign = element.optional("autoAssign")) {
    pool.auto_assign = assign->boolean();
  }
  std::optional<YamlReader> source = element.optional("sourceAddress");
  if (source && source->choice({"masquerade", "keep"}) == "keep") {
    pool.source_address = api::SourceAddress::keep;
  }
  element.no_other_keys();
  return pool;
}

void read_pools(YamlReader& file, Config& config) {
  std::optional<YamlReader> pools = file.optional("pools");
  if (!pools) return;
  std::set<std::string> names;
  std::vector<RangeInFile> ranges;
  for (YamlReader& element : pools->elements(kPoolsMax)) {
    api::Pool pool = read_pool(element, ranges);
    if (!pool.name.empty() && !names.insert(pool.name).second) {
      element.required("name").refuse("is already the name of another pool");
    }
    config.pools.push_back(std::move(pool));
  }
  refuse_overlaps(std::move(ranges));
  if (!config.host && !config.pools.empty()) {
    file.required("host", "it is what holds the addresses of the pools");
  }
}

PoolNames read_pool_names(YamlReader& list, const Config& config) {
  PoolNames names;
  for (YamlReader& element : list.elements(kPoolsMax)) {
    const std::string name = element.text();
    if (name.empty()) continue;
    if (std::ranges::find(config.pools, name, &api::Pool::name) == config.pools.end()) {
      element.refuse("is not the name of a pool");
    }
    if (!names.insert(name).second) element.refuse("is given twice");
  }
  return names;
}

std::vector<IpPrefix> read_destinations(YamlReader& routes) {
  std::vector<IpPrefix> destinations;
  YamlReader list = routes.required("destinations");
  std::vector<YamlReader> elements = list.elements(kDestinationsMax);
  if (elements.empty() && !list.missing()) list.refuse_plainly("expected at least one prefix");
  for (YamlReader& element : elements) {
    const std::string text = element.text();
    if (text.empty()) continue;
    Result<IpPrefix> prefix = parse_prefix(text);
    if (!prefix) {
      element.refuse_plainly(prefix.error().message);
    } else if (auto mistake = api::wrong_network(*prefix)) {
      element.refuse_plainly(*mistake);
    } else if (std::ranges::find(destinations, *prefix) != destinations.end()) {
      element.refuse("is given twice");
    } else {
      destinations.push_back(*prefix);
    }
  }
  routes.no_other_keys();
  return destinations;
}

void read_owners(YamlReader& file, Config& config) {
  std::optional<YamlReader> admin = file.optional("adminTokenFile");
  if (admin) config.admin_token_file = admin->text();
  std::optional<YamlReader> owners = file.optional("owners");
  std::set<std::string> names;
  std::set<std::string> files{config.admin_token_file};
  if (owners) {
    for (YamlReader& element : owners->elements(kOwnersMax)) {
      YamlReader name = element.required("name");
      YamlReader token = element.required("tokenFile");
      OwnerConfig owner{name.text(), token.text()};
      if (auto pools = element.optional("pools")) owner.pools = read_pool_names(*pools, config);
      if (auto routes = element.optional("routes")) {
        owner.destinations = read_destinations(*routes);
      }
      element.no_other_keys();
      if (owner.name.empty() || owner.token_file.empty()) continue;
      if (auto mistake = api::wrong_name(owner.name)) {
        name.refuse(*mistake);
      } else if (owner.name.size() > kOwnerBytesMax) {
        name.refuse(fmt::format("expected at most {} bytes", kOwnerBytesMax));
      }
      if (!names.insert(owner.name).second) name.refuse("is already the name of another owner");
      if (!files.insert(owner.token_file).second) {
        token.refuse("is already the token of somebody else, who could not be told apart");
      }
      config.owners.push_back(std::move(owner));
    }
  }
  const bool routes = std::ranges::any_of(
      config.owners, [](const OwnerConfig& owner) { return owner.destinations.has_value(); });
  if (routes && !config.host) file.required("host", "it is what packets are routed by");
  bool reachable = listens(config, Kind::http) || listens(config, Kind::https);
  if (reachable && config.owners.empty()) {
    file.required("owners", "without them the server is served on unix sockets only");
  }
}

}  // namespace

Config parse_config(std::string_view text, std::string_view file, Mistakes& mistakes) {
  Config config;
  YamlMistakes found;
  if (std::optional<YamlNode> document = parse_yaml(text, found)) {
    YamlReader reader(*document, found);
    read_listen(reader, config);
    read_tls(reader, config);
    read_store(reader, config);
    if (auto inventory = reader.optional("inventory")) config.inventory = inventory->text();
    read_host(reader, config);
    read_pools(reader, config);
    read_owners(reader, config);
    reader.no_other_keys();
  }
  found.add_to(mistakes, file);
  return config;
}

Config default_config(const std::string& folder) {
  return {
      .listen = {{.kind = Kind::unix_socket, .host_or_path = folder + "/infra.sock", .port = 0}},
      .tls = std::nullopt,
      .sqlite = folder + "/infra.db",
      .inventory = folder + "/inventory.yaml",
      .admin_token_file = {},
      .owners = {},
      .host = std::nullopt,
      .pools = {}};
}

}  // namespace isthmus::infra
