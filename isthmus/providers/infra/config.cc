#include "isthmus/providers/infra/config.h"

#include <exception>
#include <optional>

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include "isthmus/base/text.h"
#include "isthmus/infra/api/rules.h"
#include "isthmus/net/http.h"

namespace isthmus::providers::infra {
namespace {

// The host of what stands behind "://".
bool is_loopback(std::string_view rest) {
  const std::string_view authority = rest.substr(0, rest.find('/'));
  if (authority == "[::1]" || authority.starts_with("[::1]:")) return true;
  return net::is_loopback(authority.substr(0, authority.find(':')));
}

void check_url(std::string_view file, const Config& config, Mistakes& mistakes) {
  const std::string where = place_of(file, config.url_line);
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
    mistakes.add(place_of(file, config.ca_file_line), "caFile: only makes sense with an https url");
  }
}

// yaml-cpp throws on text that is not YAML; nothing else here does.
std::optional<YAML::Node> load(std::string_view yaml, std::string_view file, Mistakes& mistakes) {
  try {
    return YAML::Load(std::string(yaml));
  } catch (const YAML::Exception& error) {
    mistakes.add(place_of(file, error.mark.line + 1), error.msg);
    return std::nullopt;
  }
}

// What is wrong with a value, if anything. `caFile: 7` is a number, which no path is by intention.
std::optional<std::string_view> wrong_text(const YAML::Node& value) {
  if (!value.IsScalar() || value.Scalar().empty()) return "expected a text";
  if (value.Scalar().find('\0') != std::string::npos) return "must not hold a NUL character";
  const bool is_plain = value.Tag() != "!";  // Else it was written in quotes.
  double number = 0;
  bool truth = false;
  if (is_plain && YAML::convert<double>::decode(value, number)) {
    return "expected a text, found a number: write it in quotes";
  }
  if (is_plain && YAML::convert<bool>::decode(value, truth)) {
    return "expected a text, found a truth value: write it in quotes";
  }
  return std::nullopt;
}

struct Place {
  std::string* text = nullptr;
  int* line = nullptr;
};

Place place_for(std::string_view key, Config& config) {
  if (key == "url") return {&config.url, &config.url_line};
  if (key == "caFile") return {&config.ca_file, &config.ca_file_line};
  if (key == "tokenFile") return {&config.token_file, &config.token_file_line};
  if (key == "owner") return {&config.owner, &config.owner_line};
  return {};
}

}  // namespace

std::string place_of(std::string_view file, int line) {
  return fmt::format("{}: line {}", file, line);
}

Config parse_config(std::string_view yaml, std::string_view file, Mistakes& mistakes) {
  Config config;
  const std::optional<YAML::Node> root = load(yaml, file, mistakes);
  if (!root) return config;
  if (!root->IsMap()) {
    mistakes.add(file, "expected keys and values, such as `url: …`");
    return config;
  }
  for (const auto& entry : *root) {
    const std::string key = entry.first.IsScalar() ? entry.first.Scalar() : "?";
    const int line = entry.first.Mark().line + 1;
    const std::string where = place_of(file, line);
    const Place place = place_for(key, config);
    if (place.text == nullptr) {
      mistakes.add(where,
                   fmt::format("{} is not one of url, caFile, tokenFile, owner", quoted(key)));
      continue;
    }
    if (*place.line != 0) {
      mistakes.add(where, fmt::format("{} is there twice, first in line {}", key, *place.line));
      continue;
    }
    *place.line = line;
    if (const auto wrong = wrong_text(entry.second)) {
      mistakes.add(where, fmt::format("{}: {}", key, *wrong));
    } else {
      *place.text = entry.second.Scalar();
    }
  }
  constexpr std::string_view kUnix = "unix:";
  const bool is_short = config.url.starts_with("unix:/") && !config.url.starts_with("unix://");
  if (is_short) config.url.insert(kUnix.size(), "//");  // As `listen` of the backend writes it.
  if (config.url_line == 0) {
    mistakes.add(file, "url is missing: where is the infrastructure API?");
  } else if (!config.url.empty()) {
    check_url(file, config, mistakes);
  }
  const auto wrong_owner =
      config.owner.empty() ? std::nullopt : isthmus::infra::api::wrong_name(config.owner);
  if (wrong_owner) {
    mistakes.add(place_of(file, config.owner_line),
                 fmt::format("owner: {}, found {}", *wrong_owner, quoted(config.owner)));
  }
  return config;
}

}  // namespace isthmus::providers::infra
