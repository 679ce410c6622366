// Speaks the infrastructure API over HTTP: its answers as values, its refusals as outcomes
// (answers.h). One call is one request.
#pragma once

#include <optional>
#include <string>

#include "isthmus/base/clock.h"
#include "isthmus/base/files.h"
#include "isthmus/base/secret.h"
#include "isthmus/infra/api/instance.h"
#include "isthmus/infra/api/server_info.h"
#include "isthmus/net/transport.h"

namespace isthmus::providers::infra {

// A token is a word; a file of more than this is something else.
inline constexpr std::size_t kTokenBytesMax = 16 * 1024;

// Machines per page: the most that the API gives.
inline constexpr int kPageItems = 1000;

// A resource; the doors outlive it. Every call can also fail as Transport::call does, with denied
// where the token file cannot be read, and with lost where the answer cannot be understood.
class Client final {
 public:
  // The token file is read again whenever it has changed. Empty: no token is sent.
  Client(net::Transport& transport, const Clock& clock, Files& files, std::string token_file);

  Task<Result<isthmus::infra::api::ServerInfo>> server_info();

  // nullopt: the server has never heard of it, which is not evidence of anything. absent: the
  // server says that it is retired, and names it: a problem about another machine, or one that does
  // not say about which, is lost, because somebody's Node would be deleted for it.
  Task<Result<std::optional<isthmus::infra::api::Instance>>> instance(std::string uid);

  // One page; an empty token asks for the first. conflict: the revision of the pages before is
  // gone, start over.
  Task<Result<isthmus::infra::api::InstanceList>> instances(std::string continue_token);

 private:
  Task<Result<net::Response>> get(std::string target);
  Result<> authorize(net::Request& request);

  net::Transport& transport_;
  const Clock& clock_;
  Files& files_;
  const std::string token_file_;
  std::optional<FileStamp> token_stamp_;
  Secret token_;
};

}  // namespace isthmus::providers::infra
