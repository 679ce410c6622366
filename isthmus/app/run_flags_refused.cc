// Flags for what this version has not: taken in silence where their value asks for nothing, and
// refused by name where it does.
#include "isthmus/app/run_flags_impl.h"

#include <algorithm>
#include <cctype>

namespace isthmus::app {
namespace {

// Names of headers are the same in either case.
bool same_header(std::string_view one, std::string_view other) {
  return std::ranges::equal(one, other, [](unsigned char a, unsigned char b) {
    return std::tolower(a) == std::tolower(b);
  });
}

}  // namespace

void add_refused_flags(FlagTable& table, RefusedFlags& flags) {
  const std::string debugging = "Debugging flags";
  table.boolean("profiling", flags.profiling, debugging, "Only false: there is no pprof here.");
  table.boolean("contention-profiling", flags.contention_profiling, debugging,
                "Only false: there is no pprof here.");
  table.list("tls-sni-cert-key", flags.tls_sni_cert_key, "Secure serving flags",
             "Only empty: there is one certificate, for all names.");
  const std::string group = "Authentication flags";
  const std::string only = "Only its default: callers are not taken from a proxy's headers.";
  table.text("requestheader-client-ca-file", flags.requestheader_client_ca_file, group,
             "Only empty: callers are not taken from a proxy's headers.");
  table.list("requestheader-allowed-names", flags.requestheader_allowed_names, group,
             "Only empty: callers are not taken from a proxy's headers.");
  table.list("requestheader-username-headers", flags.requestheader_username_headers, group, only);
  table.list("requestheader-group-headers", flags.requestheader_group_headers, group, only);
  table.list("requestheader-extra-headers-prefix", flags.requestheader_extra_headers_prefix, group,
             only);
  table.list("requestheader-uid-headers", flags.requestheader_uid_headers, group, only);
}

void check_refused_flags(const RefusedFlags& flags, Mistakes& mistakes) {
  const auto refuse = [&mistakes](std::string_view flag, bool is_asked, std::string_view why) {
    if (is_asked) mistakes.add(flag, why);
  };
  const std::string_view no_profiles = "there is no profiling in this version; leave it out";
  refuse("--profiling", flags.profiling, no_profiles);
  refuse("--contention-profiling", flags.contention_profiling, no_profiles);
  refuse("--tls-sni-cert-key", !flags.tls_sni_cert_key.empty(),
         "certificates by server name are not supported; use --tls-cert-file with a certificate "
         "for all names");

  const std::string_view no_proxy =
      "request-header authentication is not supported: a caller shows a token or a client "
      "certificate of its own";
  const RefusedFlags usual;
  const auto refuse_headers = [&](std::string_view flag, const std::string& value,
                                  const std::string& usual_value) {
    refuse(flag, !value.empty() && !same_header(value, usual_value), no_proxy);
  };
  refuse_headers("--requestheader-client-ca-file", flags.requestheader_client_ca_file, "");
  refuse_headers("--requestheader-allowed-names", flags.requestheader_allowed_names, "");
  refuse_headers("--requestheader-username-headers", flags.requestheader_username_headers,
                 usual.requestheader_username_headers);
  refuse_headers("--requestheader-group-headers", flags.requestheader_group_headers,
                 usual.requestheader_group_headers);
  refuse_headers("--requestheader-extra-headers-prefix", flags.requestheader_extra_headers_prefix,
                 usual.requestheader_extra_headers_prefix);
  refuse_headers("--requestheader-uid-headers", flags.requestheader_uid_headers, "x-remote-uid");
}

}  // namespace isthmus::app
