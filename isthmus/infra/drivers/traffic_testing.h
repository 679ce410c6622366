// Real flows through the lab: responders on the machines, and clients that ask them, all driven by
// the test itself.
#pragma once

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "isthmus/infra/drivers/driver.h"
#include "isthmus/infra/drivers/lab_testing.h"

namespace isthmus::infra::drivers::testing {

// Long enough for a busy machine; a flow that works takes well under a millisecond.
inline constexpr int kAnswerMs = 3000;
// How long silence is listened to where silence is right.
inline constexpr int kSilenceMs = 250;

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t length = 0;

  sockaddr* pointer() { return reinterpret_cast<sockaddr*>(&storage); }
};

inline SocketAddress socket_address(const Endpoint& endpoint) {
  SocketAddress address;
  if (endpoint.address.family == IpFamily::v4) {
    auto* v4 = reinterpret_cast<sockaddr_in*>(&address.storage);
    v4->sin_family = AF_INET;
    v4->sin_port = htons(endpoint.port);
    std::memcpy(&v4->sin_addr, endpoint.address.bytes.data(), 4);
    address.length = sizeof *v4;
  } else {
    auto* v6 = reinterpret_cast<sockaddr_in6*>(&address.storage);
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(endpoint.port);
    std::memcpy(&v6->sin6_addr, endpoint.address.bytes.data(), 16);
    address.length = sizeof *v6;
  }
  return address;
}

inline std::string address_text(const SocketAddress& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const void* bytes = address.storage.ss_family == AF_INET
                          ? static_cast<const void*>(
                                &reinterpret_cast<const sockaddr_in*>(&address.storage)->sin_addr)
                          : &reinterpret_cast<const sockaddr_in6*>(&address.storage)->sin6_addr;
  ::inet_ntop(address.storage.ss_family, bytes, text.data(), text.size());
  return text.data();
}

inline Descriptor open_socket(const Namespace& where, const Endpoint& endpoint, Protocol protocol) {
  where.enter();
  int type = protocol == Protocol::tcp ? SOCK_STREAM : SOCK_DGRAM;
  int family = endpoint.address.family == IpFamily::v4 ? AF_INET : AF_INET6;
  return Descriptor(::socket(family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

// A listening TCP socket or a bound UDP one.
inline Descriptor respond(const Namespace& where, const Endpoint& endpoint, Protocol protocol) {
  Descriptor socket = open_socket(where, endpoint, protocol);
  SocketAddress address = socket_address(endpoint);
  int on = 1;
  ::setsockopt(*socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  EXPECT_EQ(::bind(*socket, address.pointer(), address.length), 0) << std::strerror(errno);
  if (protocol == Protocol::tcp) {
    EXPECT_EQ(::listen(*socket, 64), 0);
  }
  return socket;
}

inline bool wait_for(const Descriptor& socket, short events, int milliseconds) {
  pollfd entry{*socket, events, 0};
  return ::poll(&entry, 1, milliseconds) == 1;
}

// Whether an IPv4 address answers an echo request (RFC 792).
inline bool echoes(const Namespace& from, const IpAddress& to, int patience = kAnswerMs) {
  from.enter();
  Descriptor socket(::socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_ICMP));
  // Type 8, code 0, identifier 1, sequence 1, and their checksum.
  std::array<std::uint8_t, 8> request{8, 0, 0xf7, 0xfd, 0, 1, 0, 1};
  SocketAddress address = socket_address({to, 0});
  if (::sendto(*socket, request.data(), request.size(), 0, address.pointer(), address.length) < 0) {
    return false;
  }
  // Behind an IP header of 20 bytes; others' messages may come first.
  for (std::array<std::uint8_t, 128> reply{}; wait_for(socket, POLLIN, patience);) {
    if (::recv(*socket, reply.data(), reply.size(), 0) >= 28 && reply[20] == 0) return true;
  }
  return false;
}

// What a client sees, as a sentence to compare: "machine 1 saw 10.77.0.10", "refused", "silence".
class Traffic {
 public:
  Traffic(const Lab& lab, std::vector<Endpoint> responders, Protocol protocol)
      : protocol_(protocol) {
    for (std::size_t i = 0; i < responders.size(); ++i) {
      sockets_.push_back(respond(lab.machines[i % Lab::kMachines], responders[i], protocol));
    }
  }

  // One new flow from a namespace.
  std::string ask(const Namespace& from, const Endpoint& to, int patience = kAnswerMs) {
    client_ = open_socket(from, to, protocol_);
    SocketAddress address = socket_address(to);
    if (::connect(*client_, address.pointer(), address.length) != 0 && errno != EINPROGRESS) {
      return std::strerror(errno);
    }
    if (protocol_ == Protocol::udp) return ask_again(patience);
    if (!wait_for(client_, POLLOUT, patience)) return "silence";
    int error = 0;
    socklen_t length = sizeof error;
    ::getsockopt(*client_, SOL_SOCKET, SO_ERROR, &error, &length);
    if (error == ECONNREFUSED) return "refused";
    if (error != 0) return std::strerror(error);
    return answered(patience);
  }

  // The same flow once more: a datagram, or a byte on the connection that stands.
  std::string ask_again(int patience = kAnswerMs) {
    if (::send(*client_, "?", 1, MSG_NOSIGNAL) != 1) return std::strerror(errno);
    if (protocol_ == Protocol::udp) return answered(patience);
    if (!wait_for(accepted_, POLLIN, patience)) return "silence";
    char byte = 0;
    return ::recv(*accepted_, &byte, 1, 0) == 1 ? "alive" : "cut";
  }

 private:
  std::string answered(int patience) {
    std::vector<pollfd> entries;
    for (const Descriptor& socket : sockets_) entries.push_back({*socket, POLLIN, 0});
    entries.push_back({*client_, POLLIN, 0});  // An ICMP error, before anybody answered.
    if (::poll(entries.data(), entries.size(), patience) <= 0) return "silence";
    char byte = 0;
    for (std::size_t i = 0; i < sockets_.size(); ++i) {
      if ((entries[i].revents & POLLIN) == 0) continue;
      SocketAddress peer;
      peer.length = sizeof peer.storage;
      if (protocol_ == Protocol::tcp) {
        accepted_ = Descriptor(::accept4(*sockets_[i], peer.pointer(), &peer.length, SOCK_CLOEXEC));
        ::send(*accepted_, "!", 1, MSG_NOSIGNAL);
      } else {
        ::recvfrom(*sockets_[i], &byte, 1, 0, peer.pointer(), &peer.length);
        ::sendto(*sockets_[i], "!", 1, 0, peer.pointer(), peer.length);
      }
      if (!wait_for(client_, POLLIN, patience)) return "no way back";
      if (::recv(*client_, &byte, 1, 0) != 1) return std::strerror(errno);
      return "machine " + std::to_string(i) + " saw " + address_text(peer);
    }
    return ::recv(*client_, &byte, 1, 0) < 0 && errno == ECONNREFUSED ? "refused" : "odd";
  }

  const Protocol protocol_;
  std::vector<Descriptor> sockets_;
  Descriptor client_;
  Descriptor accepted_;
};

}  // namespace isthmus::infra::drivers::testing
