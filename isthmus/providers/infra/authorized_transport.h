// A transport that says who we are: every request carries the first token of a file.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "isthmus/base/files.h"
#include "isthmus/base/secret.h"
#include "isthmus/net/transport.h"

namespace isthmus::providers::infra {

// A token is a word; a file of more than this is something else.
inline constexpr std::size_t kTokenBytesMax = 16 * 1024;

// A resource; the files outlive it.
class AuthorizedTransport final : public net::Transport {
 public:
  // The file is read again whenever it has changed. Empty: no token is sent.
  AuthorizedTransport(std::unique_ptr<net::Transport> next, Files& files, std::string token_file);

  // As the next transport's; also denied where the file cannot be read: nothing was sent.
  Task<Result<net::Response>> call(net::Request request) override;
  Task<Result<net::StreamedResponse>> open(net::Request request) override;

 private:
  Result<> authorize(net::Request& request);

  const std::unique_ptr<net::Transport> next_;
  Files& files_;
  const std::string token_file_;
  std::optional<FileStamp> token_stamp_;
  Secret token_;
};

}  // namespace isthmus::providers::infra
