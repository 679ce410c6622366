#include "isthmus/app/run_flags_impl.h"

#include <fmt/format.h>

namespace isthmus::app {
namespace {

constexpr std::int64_t kStreamsMax = 1'000'000;

void add_tls(FlagTable& table, ServingFlags& flags, const std::string& group) {
  table.text("cert-dir", flags.cert_dir, group,
             "Directory of the pair cloud-controller-manager.crt and .key, which is made there if "
             "it is missing, and then renewed in time; not looked at with --tls-cert-file.");
  table.text("tls-cert-file", flags.tls.cert_file, group,
             "Path of the serving certificate; empty: one is generated.");
  table.text("tls-private-key-file", flags.tls.private_key_file, group, "Path of its private key.");
  table.list("tls-cipher-suites", flags.tls.cipher_suites, group,
             "Cipher suites of TLS 1.2, by the names of IANA; empty: OpenSSL's choice.");
  table.list("tls-curve-preferences", flags.tls.curve_preferences, group,
             "Curves of the key exchange, by number: 23 (P-256), 24 (P-384), 25 (P-521), 29 "
             "(X25519); empty: OpenSSL's choice.");
  table.text("tls-min-version", flags.tls.min_version, group,
             "Lowest version of TLS: VersionTLS12 (also if empty) or VersionTLS13.");
}

Result<net::ListenAddress> parse_address(const ServingFlags& flags) {
  const std::string& address = flags.bind_address;
  const std::string host =
      address.find(':') == std::string::npos ? address : fmt::format("[{}]", address);
  return net::parse_listen_address(fmt::format("https://{}:{}", host, flags.secure_port));
}

}  // namespace

void add_serving_flags(FlagTable& table, ServingFlags& flags) {
  const std::string group = "Secure serving flags";
  table.text("bind-address", flags.bind_address, group, "Address of the HTTPS server.");
  table.integer("secure-port", flags.secure_port, 0, kPortMax, group,
                "Port of the HTTPS server with health checks, metrics and /configz; 0: none.");
  add_tls(table, flags, group);
  table.boolean("permit-port-sharing", flags.permit_port_sharing, group,
                "Let other processes that do so as well listen on the same port (SO_REUSEPORT).");
  table
      .boolean("permit-address-sharing", flags.permit_address_sharing, group,
               "No effect: an address that is only waiting out old connections is always taken.")
      .has_effect = false;
  table
      .boolean("disable-http2-serving", flags.disable_http2_serving, group,
               "No effect: only HTTP/1.1 is served.")
      .has_effect = false;
  table
      .integer("http2-max-streams-per-connection", flags.http2_max_streams_per_connection, 0,
               kStreamsMax, group, "No effect: only HTTP/1.1 is served.")
      .has_effect = false;
}

void check_tls_flags(std::string_view prefix, const TlsFlags& flags, Mistakes& mistakes) {
  const auto flag = [prefix](std::string_view name) { return fmt::format("--{}{}", prefix, name); };
  if (flags.cert_file.empty() != flags.private_key_file.empty()) {
    mistakes.add(fmt::format("{} and {}", flag("tls-cert-file"), flag("tls-private-key-file")),
                 "give both or neither");
  }
  const auto judge = [&mistakes, &flag](std::string_view name, const auto& parsed) {
    if (!parsed) mistakes.add(flag(name), parsed.error().message);
  };
  judge("tls-min-version", net::parse_tls_version(flags.min_version));
  judge("tls-cipher-suites", net::parse_cipher_suites(flags.cipher_suites));
  judge("tls-curve-preferences", net::parse_curve_preferences(flags.curve_preferences));
}

void check_serving_flags(const ServingFlags& flags, Mistakes& mistakes) {
  const Result<net::ListenAddress> address = parse_address(flags);
  if (!address) mistakes.add("--bind-address", address.error().message);
  check_tls_flags("", flags.tls, mistakes);
}

net::ListenAddress listen_address(const ServingFlags& flags) {
  net::ListenAddress address = parse_address(flags).value_or(net::ListenAddress{});
  address.shares_port = flags.permit_port_sharing;
  return address;
}

net::TlsPolicy tls_policy(const ServingFlags& flags) {
  const net::CipherSuites suites =
      net::parse_cipher_suites(flags.tls.cipher_suites).value_or(net::CipherSuites{});
  net::TlsPolicy policy;
  policy.version_min =
      net::parse_tls_version(flags.tls.min_version).value_or(net::TlsVersion::v1_2);
  if (suites.only_tls_1_3) policy.version_min = net::TlsVersion::v1_3;
  policy.cipher_suites = suites.of_tls_1_2;
  policy.groups = net::parse_curve_preferences(flags.tls.curve_preferences)
                      .value_or(std::vector<std::string>{});
  return policy;
}

}  // namespace isthmus::app
