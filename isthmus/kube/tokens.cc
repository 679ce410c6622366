#include "isthmus/kube/tokens.h"

#include <algorithm>

#include "isthmus/base/text.h"

namespace isthmus::kube {
namespace {

// A service account token with a long audience is about 1.5 KiB; API servers take headers of 1 MiB,
// but nobody has a token of 64 KiB.
constexpr std::size_t kTokenBytesMax = std::size_t{64} << 10;

}  // namespace

Result<> check_token(std::string_view token) {
  if (token.empty()) return fail(Outcome::invalid, "the token is empty");
  if (token.size() > kTokenBytesMax) return fail(Outcome::invalid, "the token is over 64 KiB");
  if (!std::ranges::all_of(token, [](char c) { return c > ' ' && c <= '~'; })) {
    return fail(Outcome::invalid, "the token has characters that no header may carry");
  }
  return {};
}

Result<Secret> read_token_file(Files& files, const std::string& path) {
  const std::string text = TRY(files.read(path, kTokenBytesMax));
  const std::string_view token = trimmed(text);
  if (Result<> checked = check_token(token); !checked) return fail(path, checked.error());
  return Secret(std::string(token));
}

ConfiguredTokens::ConfiguredTokens(const ClusterConfig& config, Files& files, const Clock& clock)
    : files_(files), clock_(clock), file_(config.token_file), token_(config.token) {}

Result<Secret> ConfiguredTokens::token() {
  const bool fresh = read_at_ && clock_.now() - *read_at_ < kRereadAfter;
  if (file_.empty() || fresh) return token_;
  Result<Secret> read = read_token_file(files_, file_);
  if (!read && token_.empty()) return fail(Outcome::denied, "no token: " + read.error().message);
  if (read) token_ = *std::move(read);
  read_at_ = clock_.now();
  return token_;
}

void ConfiguredTokens::rejected(const Secret& token) {
  if (file_.empty() || token != token_) return;
  token_ = Secret();
  read_at_.reset();
}

}  // namespace isthmus::kube
