#include "isthmus/infra/drivers/netlink_socket.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/netlink.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace isthmus::infra::drivers {
namespace {

// The kernel fills a dump's datagrams up to this, where the reader's room allows it.
constexpr std::size_t kAnswerBytes = 64 * 1024;
// Larger transactions would only keep others who change rules waiting.
constexpr int kSendBufferBytes = 4 * 1024 * 1024;
constexpr int kReceiveBufferBytes = 4 * 1024 * 1024;
// The kernel takes the socket's own bookkeeping off the buffer.
constexpr std::size_t kSendOverheadBytes = 64;
// Answers come within the call; this only keeps a bug of a kernel from stopping the program.
constexpr timeval kAnswerWait{.tv_sec = 5, .tv_usec = 0};

std::unexpected<Error> failed(std::string_view what, int error_number) {
  return fail(outcome_of(error_number), fmt::format("{}: {}", what, std::strerror(error_number)));
}

// Larger if the machine allows it; the FORCE variant passes its limit and needs privilege over it.
void raise_buffer(int descriptor, int forced, int plain, int bytes) {
  if (setsockopt(descriptor, SOL_SOCKET, forced, &bytes, sizeof bytes) != 0) {
    (void)setsockopt(descriptor, SOL_SOCKET, plain, &bytes, sizeof bytes);
  }
}

struct Answer {
  int error_number;     // 0 is an acknowledgement.
  std::string message;  // The kernel's own, if any.
};

// The text that NETLINK_EXT_ACK appends, from `offset` of the payload on; empty where there is
// none.
std::string appended_text(const nlmsghdr& header, std::size_t offset) {
  std::string text;
  if ((header.nlmsg_flags & NLM_F_ACK_TLVS) == 0) return text;
  const auto* first = static_cast<const nlattr*>(mnl_nlmsg_get_payload_offset(&header, offset));
  const auto* end = static_cast<const char*>(mnl_nlmsg_get_payload_tail(&header));
  for (const nlattr* attribute = first;
       mnl_attr_ok(attribute, static_cast<int>(end - reinterpret_cast<const char*>(attribute)));
       attribute = mnl_attr_next(attribute)) {
    if (mnl_attr_get_type(attribute) == NLMSGERR_ATTR_MSG &&
        mnl_attr_validate(attribute, MNL_TYPE_NUL_STRING) == 0) {
      text = mnl_attr_get_str(attribute);
    }
  }
  return text;
}

// An NLMSG_ERROR; its text is behind the (capped) request.
Answer read_answer(const nlmsghdr& header) {
  const auto* error = static_cast<const nlmsgerr*>(mnl_nlmsg_get_payload(&header));
  std::size_t offset = sizeof(nlmsgerr);
  if ((header.nlmsg_flags & NLM_F_CAPPED) == 0) {
    offset += error->msg.nlmsg_len - sizeof(nlmsghdr);
  }
  return {-error->error, appended_text(header, offset)};
}

// An NLMSG_DONE, by which the kernel also says that it could not go on with a dump.
Answer read_end(const nlmsghdr& header) {
  int error = 0;
  if (mnl_nlmsg_get_payload_len(&header) < sizeof error) return {0, {}};
  std::memcpy(&error, mnl_nlmsg_get_payload(&header), sizeof error);
  if (error >= 0) return {0, {}};
  return {-error, appended_text(header, sizeof error)};
}

Error refusal(const Answer& answer) {
  return failed(answer.message.empty() ? "the kernel refuses"
                                       : "the kernel refuses (" + answer.message + ")",
                answer.error_number)
      .error();
}

std::unexpected<Error> refused(const Answer& answer) { return std::unexpected(refusal(answer)); }

// Calls with each message of a datagram until it answers false; lost when one is cut off.
Result<> each_message(std::span<const char> datagram,
                      const std::function<Result<bool>(const nlmsghdr&)>& look) {
  int left = static_cast<int>(datagram.size());
  const auto* header = reinterpret_cast<const nlmsghdr*>(datagram.data());
  while (left > 0) {
    if (!mnl_nlmsg_ok(header, left)) {
      return fail(Outcome::lost, "the kernel's answer is cut off");
    }
    bool more = TRY(look(*header));
    if (!more) return {};
    header = mnl_nlmsg_next(header, &left);
  }
  return {};
}

}  // namespace

Outcome outcome_of(int error_number) {
  switch (error_number) {
    case 0:
      return Outcome::ok;
    case ENOENT:
    case ENODEV:
    case ENXIO:
    case ESRCH:
    case EADDRNOTAVAIL:
      return Outcome::absent;
    case EEXIST:
    case EBUSY:
    case ENOTEMPTY:
    case ERESTART:
      return Outcome::conflict;
    case ENOMEM:
    case ENOBUFS:
    case EAGAIN:
    case EINTR:
    case ENFILE:
    case EMFILE:
      return Outcome::busy;
    case EPERM:
    case EACCES:
      return Outcome::denied;
    case EOPNOTSUPP:
    case EPROTONOSUPPORT:
    case EAFNOSUPPORT:
    case ENOSYS:
      return Outcome::unsupported;
    case EINVAL:
    case EMSGSIZE:
    case E2BIG:
    case ERANGE:
    case EOVERFLOW:
    case ELOOP:
    case ENAMETOOLONG:
      return Outcome::invalid;
    default:
      return Outcome::lost;
  }
}

void NetlinkMessages::add(std::size_t bytes_max, const std::function<void(char*)>& build) {
  std::size_t start = bytes_.size();
  bytes_.resize(start + bytes_max);
  build(bytes_.data() + start);
  const auto* header = reinterpret_cast<const nlmsghdr*>(bytes_.data() + start);
  std::size_t length = NLMSG_ALIGN(header->nlmsg_len);
  ISTHMUS_ASSERT(length >= sizeof(nlmsghdr) && length <= bytes_max, "a message that was not built");
  bytes_.resize(start + length);
}

void NetlinkMessages::append(const NetlinkMessages& others) {
  bytes_.insert(bytes_.end(), others.bytes_.begin(), others.bytes_.end());
}

void NetlinkSocket::Closer::operator()(mnl_socket* socket) const { (void)mnl_socket_close(socket); }

NetlinkSocket::NetlinkSocket(mnl_socket* socket) : socket_(socket), answers_(kAnswerBytes) {}
NetlinkSocket::NetlinkSocket(NetlinkSocket&&) noexcept = default;
NetlinkSocket::~NetlinkSocket() = default;

Result<NetlinkSocket> NetlinkSocket::open(int protocol) {
  mnl_socket* opened = mnl_socket_open2(protocol, SOCK_CLOEXEC);
  if (opened == nullptr) return failed("opening a netlink socket", errno);
  NetlinkSocket socket(opened);
  if (mnl_socket_bind(opened, 0, MNL_SOCKET_AUTOPID) != 0) {
    return failed("binding a netlink socket", errno);
  }
  int descriptor = mnl_socket_get_fd(opened);
  raise_buffer(descriptor, SO_SNDBUFFORCE, SO_SNDBUF, kSendBufferBytes);
  raise_buffer(descriptor, SO_RCVBUFFORCE, SO_RCVBUF, kReceiveBufferBytes);
  (void)setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &kAnswerWait, sizeof kAnswerWait);
  // Errors do not repeat what was sent, and say in words what is wrong with it.
  int on = 1;
  (void)mnl_socket_setsockopt(opened, NETLINK_CAP_ACK, &on, sizeof on);
  (void)mnl_socket_setsockopt(opened, NETLINK_EXT_ACK, &on, sizeof on);

  int bytes = 0;
  socklen_t length = sizeof bytes;
  if (getsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &bytes, &length) != 0) {
    return failed("asking for the send buffer's size", errno);
  }
  socket.request_bytes_max_ = static_cast<std::size_t>(bytes) - kSendOverheadBytes;
  return socket;
}

std::uint32_t NetlinkSocket::port() const { return mnl_socket_get_portid(socket_.get()); }

Result<> NetlinkSocket::send(std::span<const char> messages) {
  drain();
  ssize_t sent = -1;
  do {
    sent = mnl_socket_sendto(socket_.get(), messages.data(), messages.size());
  } while (sent < 0 && errno == EINTR);
  if (sent < 0) return failed(fmt::format("sending {} bytes", messages.size()), errno);
  return {};
}

Result<std::span<const char>> NetlinkSocket::receive(bool wait) {
  for (;;) {
    iovec room{answers_.data(), answers_.size()};
    msghdr message{};
    message.msg_iov = &room;
    message.msg_iovlen = 1;
    ssize_t got = recvmsg(mnl_socket_get_fd(socket_.get()), &message, wait ? 0 : MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) {
      if (!wait) return std::span<const char>();
      return fail(Outcome::lost, "the kernel does not answer");
    }
    // Answers were dropped for want of room; which ones, nobody knows.
    if (got < 0 && errno == ENOBUFS) return fail(Outcome::lost, "the kernel's answers are lost");
    if (got < 0) return failed("reading the kernel's answer", errno);
    if ((message.msg_flags & MSG_TRUNC) != 0) {
      return fail(Outcome::lost, "the kernel's answer is cut off");
    }
    return std::span<const char>(answers_.data(), static_cast<std::size_t>(got));
  }
}

// What an earlier request that failed has left behind is no answer to the next one.
void NetlinkSocket::drain() {
  int error = 0;
  do {
    char byte = 0;
    error = recv(mnl_socket_get_fd(socket_.get()), &byte, 1, MSG_DONTWAIT) < 0 ? errno : 0;
  } while (error == 0 || error == EINTR || error == ENOBUFS);
}

Result<> NetlinkSocket::transact(std::span<const char> messages,
                                 std::uint32_t acknowledged_sequence) {
  if (messages.size() > request_bytes_max_) {
    return fail(Outcome::invalid, fmt::format("a request of {} bytes; the socket takes {}",
                                              messages.size(), request_bytes_max_));
  }
  TRY(send(messages));
  bool acknowledged = false;
  std::optional<Answer> first_error;
  for (;;) {
    std::span<const char> datagram = TRY(receive(false));
    if (datagram.empty()) break;
    TRY(each_message(datagram, [&](const nlmsghdr& header) -> Result<bool> {
      if (header.nlmsg_type != NLMSG_ERROR) return true;
      Answer answer = read_answer(header);
      if (answer.error_number != 0 && !first_error) first_error = std::move(answer);
      acknowledged = acknowledged || header.nlmsg_seq == acknowledged_sequence;
      return true;
    }));
  }
  if (first_error) return refused(*first_error);
  if (!acknowledged) return fail(Outcome::lost, "the kernel acknowledged nothing");
  return {};
}

Result<> NetlinkSocket::send_each(std::span<const char> messages, const EachAnswer& each) {
  if (messages.size() > request_bytes_max_) {
    return fail(Outcome::invalid, fmt::format("a request of {} bytes; the socket takes {}",
                                              messages.size(), request_bytes_max_));
  }
  TRY(send(messages));
  for (;;) {
    std::span<const char> datagram = TRY(receive(false));
    if (datagram.empty()) return {};
    TRY(each_message(datagram, [&](const nlmsghdr& header) -> Result<bool> {
      if (header.nlmsg_type != NLMSG_ERROR) {
        each(header.nlmsg_seq, &header, nullptr);
        return true;
      }
      const Answer answer = read_answer(header);
      if (answer.error_number == 0) {
        each(header.nlmsg_seq, nullptr, nullptr);
      } else {
        const Error error = refusal(answer);
        each(header.nlmsg_seq, nullptr, &error);
      }
      return true;
    }));
  }
}

Result<> NetlinkSocket::check_strictly() {
  int on = 1;
  if (mnl_socket_setsockopt(socket_.get(), NETLINK_GET_STRICT_CHK, &on, sizeof on) == 0) return {};
  return failed("asking for strict checks", errno == ENOPROTOOPT ? EOPNOTSUPP : errno);
}

Result<> NetlinkSocket::converse(std::span<const char> request, bool until_done,
                                 const std::function<Result<>(const nlmsghdr&)>& each) {
  TRY(send(request));
  const std::uint32_t sequence = reinterpret_cast<const nlmsghdr*>(request.data())->nlmsg_seq;
  bool done = false;
  bool interrupted = false;
  while (!done) {
    std::span<const char> datagram = TRY(receive(true));
    TRY(each_message(datagram, [&](const nlmsghdr& header) -> Result<bool> {
      if (header.nlmsg_seq != sequence) return true;
      interrupted = interrupted || (header.nlmsg_flags & NLM_F_DUMP_INTR) != 0;
      if (header.nlmsg_type == NLMSG_ERROR) {
        Answer answer = read_answer(header);
        if (answer.error_number != 0) return refused(answer);
        done = true;
      } else if (header.nlmsg_type == NLMSG_DONE) {
        const Answer end = read_end(header);
        if (end.error_number != 0) return refused(end);
        done = true;
      } else {
        TRY(each(header));
        done = !until_done;
      }
      return !done;
    }));
  }
  if (interrupted) return fail(Outcome::busy, "what is read changed meanwhile");
  return {};
}

Result<> NetlinkSocket::dump(std::span<const char> request,
                             const std::function<Result<>(const nlmsghdr&)>& each) {
  return converse(request, true, each);
}

Result<> NetlinkSocket::ask(std::span<const char> request,
                            const std::function<Result<>(const nlmsghdr&)>& answer) {
  return converse(request, false, answer);
}

}  // namespace isthmus::infra::drivers
