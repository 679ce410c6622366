// The bearer token of a configuration, fresh while we run: a bound service account token is
// replaced in its file every hour or so, and the old one stops working.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "isthmus/base/clock.h"
#include "isthmus/base/files.h"
#include "isthmus/base/result.h"
#include "isthmus/base/secret.h"
#include "isthmus/kube/client.h"
#include "isthmus/kube/config.h"

namespace isthmus::kube {

// A resource. Files and clock outlive it.
class ConfiguredTokens final : public TokenSource {
 public:
  // A kubelet replaces a token when 80 % of its life are over, so the old one is good for at least
  // two minutes more (the shortest life is ten): reading every minute never sends a dead one.
  static constexpr Duration kRereadAfter = std::chrono::minutes(1);

  ConfiguredTokens(const ClusterConfig& config, Files& files, const Clock& clock);

  // The token to send now; empty: none is configured. A file is read at most once a minute, or at
  // once after rejected(). While it cannot be read, the token that it held last is still answered,
  // unless that was rejected.
  // denied: there is no token to be had; the message names the file. Never any other outcome, lest
  // a missing token file look like a missing object.
  Result<Secret> token() override;

  // The server refused it: what the file held is not sent again before it was read again.
  void rejected(const Secret& token) override;

 private:
  Files& files_;
  const Clock& clock_;
  const std::string file_;
  Secret token_;
  std::optional<Moment> read_at_;  // nullopt: read before the next answer.
};

// The text of a token file without the white space around it. invalid: empty, or characters that
// cannot stand in a header; or the outcome of reading it.
Result<Secret> read_token_file(Files& files, const std::string& path);

// What is wrong with a token, or nothing. Never quotes it.
Result<> check_token(std::string_view token);

}  // namespace isthmus::kube
