// What is known of the server: which it is, what it can do, and who we are to it. Asked before the
// first question, and anew when there is reason to doubt the answer.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "isthmus/providers/infra/client.h"

namespace isthmus::providers::infra {

// A resource; the client outlives it. All of it can fail as Client::server_info does, with
// unsupported for a server of another version of the protocol, and with denied where the token is
// of another owner than the configuration says. A server whose provider ids have another scheme
// than ours is invalid to shake(), and lost to whoever asks for something on it: that another
// server answers does not make the question wrong, and it is to be asked again.
class Handshake final {
 public:
  // An empty owner: whoever the server takes us for.
  Handshake(Client& client, std::string scheme, std::string owner);

  // Asks anew, whatever came of it before. What fails leaves nothing known.
  Task<Result<>> shake();

  // ok once the server is known to have the capability. unsupported: it has not, and the message
  // says what it lacks; that is asked again each time, because a server that is started anew may
  // have it.
  Task<Result<>> needs(std::string_view capability);

  // Whose things ours are, on a server with this capability. denied: neither the server nor the
  // configuration says it; an administrator's token is no owner's.
  Task<Result<std::string>> owner(std::string_view capability);

  // The server refused us: it, or our token, may be another than the one we know.
  void forget() { info_.reset(); }

  // Whether the server takes preferred addresses, as far as we know; true after each shake.
  bool takes_preferences() const { return takes_preferences_; }
  void has_no_preferences() { takes_preferences_ = false; }

 private:
  Task<Result<isthmus::infra::api::ServerInfo>> ask();
  Task<Result<isthmus::infra::api::ServerInfo>> server_with(std::string_view capability);

  Client& client_;
  const std::string scheme_;
  const std::string owner_;
  std::optional<isthmus::infra::api::ServerInfo> info_;
  bool takes_preferences_ = true;
};

}  // namespace isthmus::providers::infra
