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
  std::size_t body_bytes_max =
      64 * 1024 * 1024;              // Of one whole answer, and of one header block 1 MiB.
  std::size_t connections_max = 64;  // More calls wait their turn.
  std::size_t stream_buffer_bytes = 256 * 1024;  // Read ahead of a stream's reader.
  Duration connect_timeout = std::chrono::seconds(10);
  Duration call_timeout = std::chrono::seconds(60);       // Of a whole call; a stream has none.
  Duration dead_peer_timeout = std::chrono::seconds(30);  // TCP_USER_TIMEOUT and keepalive.
};

// invalid names the part of the endpoint that is wrong. The world outlives the transport, which
// outlives every call and stream.
//
// A request that is not idempotent (POST, PATCH) goes out on a connection that curl would never
// silently send it on twice: curl repeats a request when a reused connection dies before the first
// byte of the answer (cpp-stack pitfall 9), so such a repeat is detected and answered as lost.
Result<std::unique_ptr<Transport>> make_curl_transport(PosixWorld& world, Endpoint endpoint,
                                                       TransportLimits limits = {});

}  // namespace isthmus::net
