// Binding a ListenAddress: what the kernel needs to be told before anybody can be accepted.
#pragma once

#include <cstdint>
#include <string>

#include "isthmus/base/result.h"
#include "isthmus/net/http_server.h"

namespace isthmus::net {

// A listening socket, closed (and its path removed, if it is still this socket's) when destroyed.
class ListenSocket {
 public:
  ListenSocket() = default;
  ListenSocket(ListenSocket&& other) noexcept;
  ListenSocket& operator=(ListenSocket&&) = delete;
  ~ListenSocket();

  int number() const { return number_; }
  int family() const { return family_; }
  std::uint16_t port() const;  // 0 for a unix socket.

  // Whoever now owns the number closes it; the path is still removed here.
  int release_number();
  void remove_path();

 private:
  friend Result<ListenSocket> bind(const ListenAddress& address);

  int number_ = -1;
  int family_ = 0;
  std::string path_;
  std::uint64_t device_ = 0;
  std::uint64_t inode_ = 0;
};

// conflict: the address is in use by a live server. denied: not permitted. invalid: everything else
// that is wrong with the address. Each message names it.
Result<ListenSocket> bind(const ListenAddress& address);

}  // namespace isthmus::net
