#include "isthmus/providers/infra/config.h"

#include <exception>
#include <set>

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include "isthmus/base/mistakes.h"
#include "isthmus/base/text.h"
#include "isthmus/net/http.h"

namespace isthmus::providers::infra {
namespace {

std::string line_of(const YAML::Node& node) { return fmt::format("line {}", node.Mark().line + 1); }

// The host of what stands behind "://".
bool is_loopback(std::string_view rest) {
  const std::string_view authority = rest.substr(0, rest.find('/'));
  if (authority == "[::1]" || authority.starts_with("[::1]:")) return true;
  return net::is_loopback(authority.substr(0, authority.find(':')));
}

void check_url(const std::string& where, const Config& config, Mistakes& mistakes) {
  const std::string_view url = config.url;
  const std::string shown = quoted(net::without_user_info(url));
  const std::size_t scheme_end = url.find("://");
  const std::string_view scheme = url.substr(0, scheme_end);
  const std::string_view rest =
      scheme_end == std::string_view::npos ? "" : url.substr(scheme_end + 3);
  if (rest.empty() || (scheme != "unix" && scheme != "https" && scheme != "http")) {
    mistakes.add(where,
                 fmt::format("url: {} is neither unix:///PATH nor https://HOST:PORT", shown));
  } else if (scheme == "unix" && !rest.starts_with('/')) {
    mistakes.add(where, fmt::format("url: {} needs a third slash, because the path must be "
                                    "absolute",
                                    shown));
  } else if (scheme == "http" && !is_loopback(rest)) {
    mistakes.add(where, fmt::format("url: {} would send the token in the open; use https, or "
                                    "http to this very machine only",
                                    shown));
  }
  if (!config.ca_file.empty() && scheme != "https") {
    mistakes.add(where, "caFile: only makes sense with an https url");
  }
}

// yaml-cpp throws on text that is not YAML; nothing else here does.
Result<YAML::Node> load(std::string_view yaml) {
  try {
    return YAML::Load(std::string(yaml));
  } catch (const YAML::Exception& error) {
    return fail(Outcome::invalid, fmt::format("line {}: {}", error.mark.line + 1, error.msg));
  }
}

}  // namespace

Result<Config> parse_config(std::string_view yaml) {
  const YAML::Node root = TRY(load(yaml));
  if (!root.IsMap()) return fail(Outcome::invalid, "expected keys and values, such as `url: …`");

  Config config;
  Mistakes mistakes;
  std::set<std::string> seen;
  std::string url_line = "url";
  for (const auto& entry : root) {
    const std::string key = entry.first.IsScalar() ? entry.first.Scalar() : "?";
    const std::string where = line_of(entry.first);
    std::string* place = key == "url"         ? &config.url
                         : key == "caFile"    ? &config.ca_file
                         : key == "tokenFile" ? &config.token_file
                                              : nullptr;
    if (!place) {
      mistakes.add(where, fmt::format("{} is not one of url, caFile, tokenFile", quoted(key)));
    } else if (!seen.insert(key).second) {
      mistakes.add(where, fmt::format("{} is there twice", key));
    } else if (!entry.second.IsScalar() || entry.second.Scalar().empty()) {
      mistakes.add(where, fmt::format("{}: expected a text", key));
    } else {
      *place = entry.second.Scalar();
    }
    if (key == "url") url_line = where;
  }
  if (!seen.contains("url")) {
    mistakes.add("", "url is missing: where is the infrastructure API?");
  } else if (!config.url.empty()) {
    check_url(url_line, config, mistakes);
  }
  TRY(mistakes.result());
  return config;
}

}  // namespace isthmus::providers::infra
