// A peer that says exactly what a test tells it to, byte by byte: servers that lie and hang up,
// clients that dawdle. Lives on the same loop as what is tested.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "isthmus/base/result.h"
#include "isthmus/base/task.h"
#include "isthmus/net/tls.h"
#include "isthmus/net/world_posix.h"

namespace isthmus::net {

class Connection;

// One connection in the hands of a test. Waits fail as those of Connection do.
class RawPeer {
 public:
  explicit RawPeer(std::shared_ptr<Connection> connection);
  RawPeer(RawPeer&&) noexcept;
  ~RawPeer();  // Closes.

  // Everything up to and with this text.
  Task<Result<std::string>> read_until(std::string_view text);

  // A request's or answer's head and, by its Content-Length, its body.
  Task<Result<std::string>> read_message();

  // All until the other side closes (or breaks) the connection.
  Task<Result<std::string>> read_to_end();

  // Reads one piece, for counting.
  Task<Result<std::size_t>> read_some();

  Task<Result<>> send(std::string text);
  Task<Result<>> shut_down();
  void close();

 private:
  std::shared_ptr<Connection> connection_;
};

// Listens on 127.0.0.1, with TLS if given any; with an authority for clients, it serves only those
// that have a certificate of it.
class RawServer {
 public:
  explicit RawServer(PosixWorld& world, std::optional<ServerTls> tls = std::nullopt,
                     const std::string& client_ca_pem = "");
  ~RawServer();

  Task<Result<RawPeer>> accept();
  std::uint16_t port() const;
  std::string url() const;  // "http://127.0.0.1:PORT" or https.

 private:
  struct State;
  std::shared_ptr<State> state_;
};

// Connects without TLS; both end the test when they cannot.
RawPeer connect_raw(PosixWorld& world, std::uint16_t port, int receive_buffer_bytes = 0);
RawPeer connect_raw(PosixWorld& world, const std::string& unix_path);

// Runs a task in the world to its end, and checks that it leaves no coroutine behind.
template <class T>
T run_in(PosixWorld& world, Task<T> task) {
  std::optional<T> answer = run_to_end(world.loop(), std::move(task));
  return std::move(*answer);
}

}  // namespace isthmus::net
