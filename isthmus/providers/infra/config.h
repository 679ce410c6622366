// Where the infrastructure API is and how to get in: the file that --cloud-config names.
//
//   url: unix:///run/isthmus/infra.sock     # or https://lb1.example:10280
//   caFile: /etc/isthmus/ca.crt             # https only; absent: the system's bundle
//   tokenFile: /etc/isthmus/token           # absent: no token is sent
#pragma once

#include <string>
#include <string_view>

#include "isthmus/base/result.h"

namespace isthmus::providers::infra {

// A file that is larger is no such configuration.
inline constexpr std::size_t kConfigBytesMax = 64 * 1024;

struct Config {
  std::string url = {};
  std::string ca_file = {};
  std::string token_file = {};

  friend bool operator==(const Config&, const Config&) = default;
};

// invalid: every mistake of the text together, each with its line. Plain http is only taken for
// this very machine, because a token would travel in the open.
Result<Config> parse_config(std::string_view yaml);

}  // namespace isthmus::providers::infra
