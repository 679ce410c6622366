// The real Transport: libcurl's multi interface on our loop, HTTP/1.1, over TLS, plain TCP or a
// unix socket.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "isthmus/base/clock.h"
#include "isthmus/base/result.h"
#include "isthmus/net/tls.h"
#include "isthmus/net/transport.h"

namespace isthmus::net {

class PosixWorld;

struct Endpoint {
  std::string url;               // "https://HOST:PORT[/prefix]", "http://…" or "unix:///path".
  std::optional<ClientTls> tls;  // For https; nullopt: the system's bundle, no client certificate.
  std::string proxy;             // Empty: https_proxy and no_proxy of the environment apply.
};

struct TransportLimits {
  std::size_t body_bytes_max = 64 * 1024 * 1024;  // Of one whole answer; its headers: 1 MiB.
  std::size_t connections_max = 64;               // More calls wait their turn.
  std::size_t stream_buffer_bytes = 256 * 1024;   // Read ahead of a stream's reader.
  Duration connect_timeout = std::chrono::seconds(10);
  // Of a whole call, its turn included; of a stream until its headers are there.
  Duration call_timeout = std::chrono::seconds(60);
  Duration dead_peer_timeout = std::chrono::seconds(30);  // TCP_USER_TIMEOUT and keepalive.
};

// invalid names the part of the endpoint that is wrong. The world outlives the transport, which
// outlives every call and stream.
//
// A request other than GET or HEAD is never sent twice. Curl repeats a request when a connection it
// has used before dies without the first byte of an answer; such a repeat is noticed, stopped and
// answered as lost. A connection that the peer closed while it was idle is replaced beforehand.
//
// An answer without a length whose end is the end of the connection counts as complete, because
// nobody can tell; whoever parses it will.
Result<std::unique_ptr<Transport>> make_curl_transport(PosixWorld& world, Endpoint endpoint,
                                                       TransportLimits limits = {});

}  // namespace isthmus::net
