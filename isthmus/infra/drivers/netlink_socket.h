// A netlink socket: requests to the kernel and its answers, through libmnl.
//
// It blocks, and may: the kernel answers within the system call that asks, so nothing is ever
// waited for but the kernel's own work, which is bounded by the size of a request (a transaction
// of 128,000 elements takes about 0.1 s) or of a dump.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "isthmus/base/result.h"

struct mnl_socket;
struct nlmsghdr;

namespace isthmus::infra::drivers {

// What an errno of the kernel means to us: absent (ENOENT, ENODEV, …), conflict (EEXIST, EBUSY,
// ERESTART: the rules changed meanwhile), busy (ENOMEM, ENOBUFS, EAGAIN, EINTR), denied (EPERM,
// EACCES), unsupported (EOPNOTSUPP, …), invalid (EINVAL, EMSGSIZE, …), else lost.
Outcome outcome_of(int error_number);

// Messages one behind the other, as they go out. A buffer has no limit of its own.
class NetlinkMessages {
 public:
  // Builds one message of at most `bytes_max` bytes in place: the room given to `build` is zeroed
  // and has no header yet; what it writes must begin with one whose length is right.
  void add(std::size_t bytes_max, const std::function<void(char* room)>& build);

  void append(const NetlinkMessages& others);
  void clear() { bytes_.clear(); }
  bool empty() const { return bytes_.empty(); }
  std::size_t size() const { return bytes_.size(); }
  std::span<char> bytes() { return bytes_; }
  std::span<const char> bytes() const { return bytes_; }

 private:
  std::vector<char> bytes_;
};

// A resource; movable, because it is nothing but the owner of a descriptor.
class NetlinkSocket {
 public:
  // Of a protocol like NETLINK_NETFILTER or NETLINK_ROUTE, in the network namespace of the caller,
  // in which the socket then stays. denied or unsupported where the kernel has no such socket.
  static Result<NetlinkSocket> open(int protocol);

  NetlinkSocket(NetlinkSocket&&) noexcept;
  NetlinkSocket& operator=(NetlinkSocket&&) = delete;
  ~NetlinkSocket();

  // How many bytes one transact() may take. It depends on privilege: without CAP_NET_ADMIN over
  // the whole machine the send buffer cannot be raised.
  std::size_t request_bytes_max() const { return request_bytes_max_; }

  // Who sends, as the kernel numbers it and tells others about changes.
  std::uint32_t port() const;

  // For the header of the next message.
  std::uint32_t next_sequence() { return ++sequence_; }

  // Sends all messages in one call and reads the answers. The one of `acknowledged_sequence` must
  // ask for an acknowledgement (NLM_F_ACK). ok: it came, and no error for any of them. Otherwise
  // the first error, as outcome_of() says, with the kernel's own words if it has any; lost when
  // neither came. invalid: too large.
  Result<> transact(std::span<const char> messages, std::uint32_t acknowledged_sequence);

  // Sends all messages in one call, and calls `each` with what the kernel answers to any of them,
  // in the order of its answers: a message, or an error, or neither, which is an acknowledgement.
  // Messages that ask for neither an answer nor an acknowledgement and are carried out have none.
  // invalid: too large.
  using EachAnswer =
      std::function<void(std::uint32_t sequence, const nlmsghdr* answer, const Error* error)>;
  Result<> send_each(std::span<const char> messages, const EachAnswer& each);

  // From now on the kernel refuses what it does not understand of a request for a dump, and filters
  // by what it does understand. unsupported: the kernel is older than 4.20.
  Result<> check_strictly();

  // Sends one request and calls `each` with every message of its answer until the kernel says that
  // this was all; an error of `each` ends it. busy: what was dumped changed meanwhile, and the
  // answer is not to be trusted.
  Result<> dump(std::span<const char> request,
                const std::function<Result<>(const nlmsghdr&)>& each);

  // Sends one request that has exactly one answer.
  Result<> ask(std::span<const char> request,
               const std::function<Result<>(const nlmsghdr&)>& answer);

 private:
  struct Closer {
    void operator()(mnl_socket* socket) const;
  };

  explicit NetlinkSocket(mnl_socket* socket);
  Result<> send(std::span<const char> messages);
  // The next datagram; empty when there is none and `wait` is false.
  Result<std::span<const char>> receive(bool wait);
  Result<> converse(std::span<const char> request, bool until_done,
                    const std::function<Result<>(const nlmsghdr&)>& each);
  void drain();

  std::unique_ptr<mnl_socket, Closer> socket_;
  std::size_t request_bytes_max_ = 0;
  std::uint32_t sequence_ = 0;
  std::vector<char> answers_;
};

}  // namespace isthmus::infra::drivers
