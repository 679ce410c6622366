#include "isthmus/app/status_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "isthmus/base/text.h"
#include "isthmus/infra/config.h"
#include "isthmus/net/http.h"

namespace isthmus::app {
namespace {

using Kind = net::ListenAddress::Kind;

// The host of what stands behind "://".
bool is_loopback(std::string_view rest) {
  std::string_view authority = rest.substr(0, rest.find('/'));
  if (authority == "[::1]" || authority.starts_with("[::1]:")) return true;
  return net::is_loopback(authority.substr(0, authority.find(':')));
}

void check_url(const StatusOptions& options, Mistakes& mistakes) {
  std::string_view url = options.url;
  std::size_t end = url.find("://");
  std::string_view scheme = url.substr(0, end);
  std::string_view rest = end == std::string_view::npos ? "" : url.substr(end + 3);
  const std::string shown = quoted(net::without_user_info(url));
  if (rest.empty() || (scheme != "unix" && scheme != "https" && scheme != "http")) {
    mistakes.add("--url", fmt::format("{} is neither unix:///PATH nor https://HOST:PORT", shown));
  } else if (scheme == "http" && !is_loopback(rest)) {
    mistakes.add("--url", fmt::format("{} would send the token in the open; use https, or http to "
                                      "this very machine only",
                                      shown));
  }
  if (!options.ca_file.empty() && scheme != "https") {
    mistakes.add("--ca-file", "only makes sense with an https url");
  }
}

// Where the backend of this configuration can be asked from its own machine.
std::string local_url(const infra::Config& config, Mistakes& mistakes) {
  for (const net::ListenAddress& address : config.listen) {
    if (address.kind == Kind::unix_socket) return "unix://" + address.host_or_path;
  }
  for (const net::ListenAddress& address : config.listen) {
    if (address.kind != Kind::http) continue;
    std::string host = address.host_or_path;
    if (host.find(':') != std::string::npos && !host.starts_with('[')) host = "[" + host + "]";
    return fmt::format("http://{}:{}", host, address.port);
  }
  mistakes.add("--config", "the backend listens on https only; give --url and --ca-file instead");
  return "";
}

StatusTarget of_config(Files& files, const StatusOptions& options, Mistakes& mistakes) {
  Result<std::string> text = files.read(options.config, infra::kConfigBytesMax);
  if (!text) {
    mistakes.add("--config", text.error().message);
    return {};
  }
  const std::size_t before = mistakes.count();
  const infra::Config config = infra::parse_config(*text, options.config, mistakes);
  if (mistakes.count() != before) return {};
  return {.url = local_url(config, mistakes),
          .ca_file = "",
          .token_file = options.token_file.empty() ? config.admin_token_file : options.token_file};
}

}  // namespace

FlagTable status_flags(StatusOptions& options) {
  FlagTable table("isthmus status [--url URL | --socket PATH | --config FILE] [flags]",
                  "Shows load balancers, addresses, pools and orphans of an infrastructure "
                  "backend, and why something is not as it should be.\n"
                  "Exit code 0: everything is ready. 1: there was no answer. 2: bad flags. 3: "
                  "something is not ready, or an orphan was found.");
  const std::string where = "Where to ask";
  table.text("url", options.url, where,
             "The backend's address: unix:///PATH, https://HOST:PORT or http://127.0.0.1:PORT.");
  table.text("socket", options.socket, where,
             fmt::format("Path of the backend's unix socket; {} when nothing else is said.",
                         kDefaultSocket));
  table.text("config", options.config, where,
             "Path of the backend's own configuration file, on its machine: says where it listens "
             "and where the administrators' token is.");
  table.text("ca-file", options.ca_file, where,
             "Certificates that an https server is trusted by; the system's when empty.");
  table.text("token-file", options.token_file, where,
             "File with the token to ask with: an owner's, or the administrators'.");
  const std::string what = "What to show";
  table.text("owner", options.owner, what, "Only what belongs to this owner.");
  table.choice("output", options.output, {"table", "json"}, what, "For people or for programs.");
  table.choice("o", options.output, {"table", "json"}, what, "The same as --output.");
  return table;
}

StatusTarget status_target(Files& files, const StatusOptions& options, Mistakes& mistakes) {
  const std::array given = {!options.url.empty(), !options.socket.empty(), !options.config.empty()};
  if (std::ranges::count(given, true) > 1) {
    mistakes.add("--url, --socket and --config", "give at most one of them");
    return {};
  }
  if (!options.config.empty()) return of_config(files, options, mistakes);
  StatusTarget target{options.url, options.ca_file, options.token_file};
  if (!options.url.empty()) {
    check_url(options, mistakes);
    return target;
  }
  const std::string path = options.socket.empty() ? kDefaultSocket : options.socket;
  if (!path.starts_with('/')) mistakes.add("--socket", "must be an absolute path");
  if (!options.ca_file.empty()) mistakes.add("--ca-file", "only makes sense with an https url");
  target.url = "unix://" + path;
  return target;
}

}  // namespace isthmus::app
