#include "isthmus/net/raw_peer_testing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <charconv>

#include "isthmus/net/asio_await_impl.h"
#include "isthmus/net/connection_impl.h"
#include "isthmus/net/reactor_impl.h"

namespace isthmus::net {
namespace {

using tcp = boost::asio::ip::tcp;

// The announced length of the body below this head, or zero.
std::size_t content_length(std::string_view head) {
  constexpr std::string_view kName = "content-length:";
  std::string lower(head);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  const std::size_t at = lower.find(kName);
  if (at == std::string::npos) return 0;
  const std::size_t digits = lower.find_first_not_of(' ', at + kName.size());
  std::size_t bytes = 0;
  std::from_chars(lower.data() + digits, lower.data() + lower.size(), bytes);
  return bytes;
}

}  // namespace

struct RawServer::State {
  explicit State(PosixWorld& world)
      : acceptor(world.reactor().io, tcp::endpoint(boost::asio::ip::address_v4::loopback(), 0)) {}
  tcp::acceptor acceptor;
  TlsContext tls;
};

RawPeer::RawPeer(std::shared_ptr<Connection> connection) : connection_(std::move(connection)) {}
RawPeer::RawPeer(RawPeer&&) noexcept = default;
RawPeer::~RawPeer() {
  if (connection_) connection_->close();
}

Task<Result<std::string>> RawPeer::read_until(std::string_view text) {
  const std::string wanted(text);
  std::string& input = connection_->input;
  while (input.find(wanted) == std::string::npos) {
    const std::size_t bytes = CO_TRY(co_await connection_->read());
    ISTHMUS_ASSERT(bytes > 0, "a read that reads nothing");
  }
  const std::size_t end = input.find(wanted) + wanted.size();
  std::string found = input.substr(0, end);
  input.erase(0, end);
  co_return found;
}

Task<Result<std::string>> RawPeer::read_message() {
  std::string message = CO_TRY(co_await read_until("\r\n\r\n"));
  const std::size_t body = content_length(message);
  std::string& input = connection_->input;
  while (input.size() < body) CO_TRY(co_await connection_->read());
  message += input.substr(0, body);
  input.erase(0, body);
  co_return message;
}

Task<Result<std::string>> RawPeer::read_to_end() {
  for (;;) {
    const Result<std::size_t> bytes = co_await connection_->read();
    if (bytes.outcome() == Outcome::lost) co_return std::exchange(connection_->input, {});
    if (!bytes) co_return std::unexpected(bytes.error());
  }
}

Task<Result<std::size_t>> RawPeer::read_some() {
  Result<std::size_t> bytes = co_await connection_->read();
  connection_->input.clear();
  co_return bytes;
}

Task<Result<>> RawPeer::send(std::string text) { return connection_->write(std::move(text), {}); }
Task<Result<>> RawPeer::shut_down() { return connection_->shut_down(); }
void RawPeer::close() { connection_->close(); }

RawServer::RawServer(PosixWorld& world, std::optional<ServerTls> tls,
                     const std::string& client_ca_pem)
    : state_(std::make_shared<State>(world)) {
  if (tls) state_->tls = make_server_context(*tls).value();
  if (client_ca_pem.empty()) return;
  namespace ssl = boost::asio::ssl;
  state_->tls->add_certificate_authority(boost::asio::buffer(client_ca_pem));
  state_->tls->set_verify_mode(ssl::verify_peer | ssl::verify_fail_if_no_peer_cert);
}
RawServer::~RawServer() = default;

Task<Result<RawPeer>> RawServer::accept() {
  tcp::socket socket = CO_TRY(co_await state_->acceptor.async_accept(hold(state_)));
  Connection::Socket generic(std::move(socket));
  auto connection = state_->tls ? tls_connection(std::move(generic), state_->tls)
                                : plain_connection(std::move(generic));
  CO_TRY(co_await connection->handshake());
  co_return RawPeer(std::move(connection));
}

std::uint16_t RawServer::port() const { return state_->acceptor.local_endpoint().port(); }

std::string RawServer::url() const {
  return (state_->tls ? "https" : "http") + std::string("://127.0.0.1:") + std::to_string(port());
}

RawPeer connect_raw(PosixWorld& world, std::uint16_t port, int receive_buffer_bytes) {
  tcp::socket socket(world.reactor().io, tcp::v4());
  if (receive_buffer_bytes > 0) {
    socket.set_option(boost::asio::socket_base::receive_buffer_size(receive_buffer_bytes));
  }
  socket.connect(tcp::endpoint(boost::asio::ip::address_v4::loopback(), port));
  return RawPeer(plain_connection(Connection::Socket(std::move(socket))));
}

RawPeer connect_raw(PosixWorld& world, const std::string& unix_path) {
  boost::asio::local::stream_protocol::socket socket(world.reactor().io);
  socket.connect(boost::asio::local::stream_protocol::endpoint(unix_path));
  return RawPeer(plain_connection(Connection::Socket(std::move(socket))));
}

}  // namespace isthmus::net
