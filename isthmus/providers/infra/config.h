// Where the infrastructure API is and how to get in: the file that --cloud-config names.
//
//   url: unix:///run/isthmus/infra.sock     # or unix:/run/…, or https://lb1.example:10280
//   caFile: /etc/isthmus/ca.crt             # https only; absent: the system's bundle
//   tokenFile: /etc/isthmus/token           # absent: no token is sent
//   owner: prod                             # only with an administrator's token: who we are
#pragma once

#include <string>
#include <string_view>

#include "isthmus/base/mistakes.h"

namespace isthmus::providers::infra {

// A file that is larger is no such configuration.
inline constexpr std::size_t kConfigBytesMax = 64 * 1024;

// Where a value stands is for messages about what it names.
struct Config {
  std::string url = {};  // "unix:/x" is read as unix:///x.
  std::string ca_file = {};
  std::string token_file = {};
  std::string owner = {};
  int url_line = 0;
  int ca_file_line = 0;
  int token_file_line = 0;
  int owner_line = 0;

  friend bool operator==(const Config&, const Config&) = default;
};

// Every mistake of the text is added, as "FILE: line 3: …", and what could be read is answered even
// so: the files that it names have mistakes of their own. Plain http is only taken for this very
// machine, because a token would travel in the open.
Config parse_config(std::string_view yaml, std::string_view file, Mistakes& mistakes);

// "FILE: line 3", as a message names a place.
std::string place_of(std::string_view file, int line);

}  // namespace isthmus::providers::infra
