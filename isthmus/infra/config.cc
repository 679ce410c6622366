#include "isthmus/infra/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

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
  YamlReader name = host->required("name");
  HostConfig read{.name = name.text(), .driver = HostConfig::Driver::nft};
  auto mistake = read.name.empty() ? std::nullopt : api::wrong_name(read.name);
  if (mistake) name.refuse(*mistake);
  if (host->required("driver").choice({"nft", "announce"}) == "announce") {
    read.driver = HostConfig::Driver::announce;
  }
  host->no_other_keys();
  config.host = std::move(read);
}

void refuse_later(YamlReader& map, std::string_view key) {
  std::optional<YamlReader> later = map.optional(key);
  if (later) later->refuse_plainly("is not offered by this version; take it out");
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
      refuse_later(element, "pools");
      element.no_other_keys();
      if (owner.name.empty() || owner.token_file.empty()) continue;
      if (auto mistake = api::wrong_name(owner.name)) name.refuse(*mistake);
      if (!names.insert(owner.name).second) name.refuse("is already the name of another owner");
      if (!files.insert(owner.token_file).second) {
        token.refuse("is already the token of somebody else, who could not be told apart");
      }
      config.owners.push_back(std::move(owner));
    }
  }
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
    read_owners(reader, config);
    read_host(reader, config);
    refuse_later(reader, "pools");
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
      .host = std::nullopt};
}

}  // namespace isthmus::infra
