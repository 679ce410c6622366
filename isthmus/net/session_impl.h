// One client's connection, from handshake to close: its requests, one after the other.
#pragma once

#include <memory>

#include "isthmus/base/task.h"
#include "isthmus/net/crowd_impl.h"
#include "isthmus/net/http_server.h"
#include "isthmus/net/response_writer_impl.h"

namespace isthmus::net {

// Always answers ok, because what one client does is no concern of the others. The host outlives
// it.
Task<Result<>> serve_connection(SessionHost& host, std::unique_ptr<Crowd::Place> place, Peer peer);

}  // namespace isthmus::net
