#include "isthmus/app/client_files.h"

#include <fmt/format.h>

#include "isthmus/base/text.h"

namespace isthmus::app {
namespace {

constexpr std::size_t kTokenBytesMax = 64 * 1024;
constexpr std::size_t kCaBytesMax = 1024 * 1024;

}  // namespace

Secret read_token(Files& files, std::string_view flag, const std::string& path,
                  Mistakes& mistakes) {
  if (path.empty()) return {};
  Result<std::string> text = files.read(path, kTokenBytesMax);
  if (!text) {
    mistakes.add(flag, text.error().message);
    return {};
  }
  const std::string_view token = first_line(*text);
  if (token.empty()) mistakes.add(flag, path + ": holds no token");
  return Secret(std::string(token));
}

std::optional<net::ClientTls> read_ca(Files& files, const std::string& path, Mistakes& mistakes) {
  if (path.empty()) return std::nullopt;
  Result<std::string> pem = files.read(path, kCaBytesMax);
  net::ClientTls tls{.ca_pem = pem.value_or("")};
  if (!pem) {
    mistakes.add("--ca-file", pem.error().message);
  } else if (Result<> good = net::check(tls); !good) {
    mistakes.add("--ca-file", fmt::format("{}: {}", path, good.error().message));
  }
  return tls;
}

}  // namespace isthmus::app
