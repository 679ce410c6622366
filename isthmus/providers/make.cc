#include "isthmus/providers/make.h"

#include <optional>
#include <utility>

#include <fmt/format.h>

#include "isthmus/base/mistakes.h"
#include "isthmus/base/text.h"
#include "isthmus/providers/infra/config.h"
#include "isthmus/providers/infra/provider.h"

namespace isthmus::providers {
namespace {

constexpr std::size_t kCaBytesMax = 1024 * 1024;

// What the configuration points to, all of it, so that everything missing is told at once.
std::optional<net::ClientTls> read_files(Files& files, const std::string& path,
                                         const infra::Config& config, Mistakes& mistakes) {
  const std::string ca_place = infra::place_of(path, config.ca_file_line);
  const std::string token_place = infra::place_of(path, config.token_file_line);
  std::optional<net::ClientTls> tls;
  if (!config.ca_file.empty()) {
    const Result<std::string> pem = files.read(config.ca_file, kCaBytesMax);
    tls = net::ClientTls{.ca_pem = pem.value_or("")};
    if (!pem) {
      mistakes.add(ca_place, "caFile: " + pem.error().message);
    } else if (const Result<> good = net::check(*tls); !good) {
      mistakes.add(ca_place, fmt::format("caFile: {}: {}", config.ca_file, good.error().message));
    }
  }
  if (!config.token_file.empty()) {
    const Result<std::string> token = files.read(config.token_file, infra::kTokenBytesMax);
    if (!token) mistakes.add(token_place, "tokenFile: " + token.error().message);
  }
  return tls;
}

Result<Made> make_infra(const std::string& config_path, const Doors& doors) {
  if (config_path.empty()) {
    return fail(Outcome::invalid,
                "--cloud-config is missing: the file that says where the infrastructure API is");
  }
  const Result<std::string> text = doors.files.read(config_path, infra::kConfigBytesMax);
  if (!text) return fail(Outcome::invalid, "--cloud-config: " + text.error().message);
  Mistakes mistakes;
  const infra::Config config = infra::parse_config(*text, config_path, mistakes);
  std::optional<net::ClientTls> tls = read_files(doors.files, config_path, config, mistakes);
  TRY(mistakes.result());

  auto transport =
      doors.connect(net::Endpoint{.url = config.url, .tls = std::move(tls), .proxy = {}});
  if (!transport) return fail(infra::place_of(config_path, config.url_line), transport.error());
  return Made{std::make_unique<infra::InfraProvider>(
                  *std::move(transport), doors.clock, doors.files,
                  infra::Identity{.token_file = config.token_file, .owner = config.owner}),
              infra::default_limits()};
}

}  // namespace

std::string_view known_providers() { return infra::kName; }

Result<Made> make_provider(std::string_view name, const std::string& config_path,
                           const Doors& doors) {
  if (name == infra::kName) return make_infra(config_path, doors);
  return fail(Outcome::invalid, fmt::format("--cloud-provider: {} is not one of {}", quoted(name),
                                            known_providers()));
}

}  // namespace isthmus::providers
