#include "isthmus/net/curl_multi_impl.h"

#include <algorithm>
#include <chrono>

#include "isthmus/base/result.h"

namespace isthmus::net {
namespace {

// A handle keeps a few KB; more than this many at once is a burst.
constexpr std::size_t kIdleHandlesMax = 8;

void initialize_curl() {
  static const CURLcode result = curl_global_init(CURL_GLOBAL_DEFAULT);
  ISTHMUS_ASSERT(result == CURLE_OK, "libcurl does not start");
}

}  // namespace

// A socket that curl has opened and will close itself. The kernel may give its number to the next
// one at once, so a late event is recognised by its generation.
struct CurlMulti::Socket {
  Socket(boost::asio::io_context& io, curl_socket_t number_, std::uint64_t generation_)
      : number(number_), generation(generation_), descriptor(io) {}
  ~Socket() {
    if (descriptor.is_open()) descriptor.release();
  }

  const curl_socket_t number;
  const std::uint64_t generation;
  boost::asio::posix::stream_descriptor descriptor;
  int wanted = CURL_POLL_NONE;
  bool waits_to_read = false;
  bool waits_to_write = false;
};

struct CurlMulti::Guard {
  CurlMulti* multi;
};

CurlMulti::CurlMulti(PosixWorld::Reactor& reactor, std::size_t connections_max)
    : reactor_(reactor), guard_(std::make_shared<Guard>(this)) {
  initialize_curl();
  multi_ = curl_multi_init();
  ISTHMUS_ASSERT(multi_ != nullptr, "libcurl gives no multi handle");
  curl_multi_setopt(multi_, CURLMOPT_SOCKETFUNCTION, &CurlMulti::on_socket);
  curl_multi_setopt(multi_, CURLMOPT_SOCKETDATA, this);
  curl_multi_setopt(multi_, CURLMOPT_TIMERFUNCTION, &CurlMulti::on_timer);
  curl_multi_setopt(multi_, CURLMOPT_TIMERDATA, this);
  curl_multi_setopt(multi_, CURLMOPT_PIPELINING, static_cast<long>(CURLPIPE_NOTHING));
  curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS, static_cast<long>(connections_max));
}

CurlMulti::~CurlMulti() {
  for (CURL* handle : idle_handles_) curl_easy_cleanup(handle);
  curl_multi_cleanup(multi_);  // Closes what is open, by way of on_socket.
  reactor_.loop.disarm(*this);
  guard_->multi = nullptr;
}

CURL* CurlMulti::take_handle() {
  if (idle_handles_.empty()) {
    CURL* handle = curl_easy_init();
    ISTHMUS_ASSERT(handle != nullptr, "libcurl gives no easy handle");
    return handle;
  }
  CURL* handle = idle_handles_.back();
  idle_handles_.pop_back();
  return handle;
}

void CurlMulti::give_back(CURL* handle) {
  if (idle_handles_.size() >= kIdleHandlesMax) {
    curl_easy_cleanup(handle);
    return;
  }
  curl_easy_reset(handle);
  idle_handles_.push_back(handle);
}

void CurlMulti::add(CURL* handle, Job& job) {
  curl_easy_setopt(handle, CURLOPT_PRIVATE, &job);
  const CURLMcode result = curl_multi_add_handle(multi_, handle);
  ISTHMUS_ASSERT(result == CURLM_OK, "libcurl refuses a transfer");
}

void CurlMulti::remove(CURL* handle) { curl_multi_remove_handle(multi_, handle); }

void CurlMulti::resume(CURL* handle) { curl_easy_pause(handle, CURLPAUSE_CONT); }

int CurlMulti::on_socket(CURL*, curl_socket_t number, int what, void* self, void*) {
  static_cast<CurlMulti*>(self)->watch(number, what);
  return 0;
}

int CurlMulti::on_timer(CURLM*, long milliseconds, void* self) {
  CurlMulti& multi = *static_cast<CurlMulti*>(self);
  if (milliseconds < 0) {
    multi.reactor_.loop.disarm(multi);
  } else {
    // Counted from the driver's time: the loop's own stands still while it waits.
    const Moment now = multi.reactor_.now();
    multi.reactor_.loop.arm(multi, now + std::chrono::milliseconds(milliseconds));
  }
  return 0;
}

// A socket that the kernel does not let us watch (out of memory or of epoll watches) stays silent
// until its call times out. Told of it, curl would refuse all transfers of this transport.
void CurlMulti::watch(curl_socket_t number, int what) {
  const auto found = sockets_.find(number);
  if (what == CURL_POLL_REMOVE) {
    if (found != sockets_.end()) sockets_.erase(found);
    return;
  }
  if (found != sockets_.end()) {
    found->second->wanted = what;
    arm(*found->second);
    return;
  }
  auto socket = std::make_unique<Socket>(reactor_.io, number, ++next_generation_);
  boost::system::error_code error;
  socket->descriptor.assign(number, error);
  if (error) return;
  socket->wanted = what;
  arm(*socket);
  sockets_.emplace(number, std::move(socket));
}

void CurlMulti::arm(Socket& socket) {
  if ((socket.wanted & CURL_POLL_IN) != 0 && !socket.waits_to_read) {
    socket.waits_to_read = true;
    wait_for(socket, CURL_CSELECT_IN);
  }
  if ((socket.wanted & CURL_POLL_OUT) != 0 && !socket.waits_to_write) {
    socket.waits_to_write = true;
    wait_for(socket, CURL_CSELECT_OUT);
  }
}

void CurlMulti::wait_for(Socket& socket, int event) {
  using Descriptor = boost::asio::posix::stream_descriptor;
  const auto kind = event == CURL_CSELECT_IN ? Descriptor::wait_read : Descriptor::wait_write;
  socket.descriptor.async_wait(
      kind, [guard = guard_, number = socket.number, generation = socket.generation,
             event](boost::system::error_code error) {
        if (guard->multi != nullptr) guard->multi->ready(number, generation, event, !!error);
      });
}

void CurlMulti::ready(curl_socket_t number, std::uint64_t generation, int event, bool failed) {
  const auto current = [&]() -> Socket* {
    const auto found = sockets_.find(number);
    if (found == sockets_.end() || found->second->generation != generation) return nullptr;
    return found->second.get();
  };
  Socket* socket = current();
  if (socket == nullptr) return;
  (event == CURL_CSELECT_IN ? socket->waits_to_read : socket->waits_to_write) = false;
  const int wanted = event == CURL_CSELECT_IN ? CURL_POLL_IN : CURL_POLL_OUT;
  if (failed) {
    act(number, CURL_CSELECT_ERR);
  } else if ((socket->wanted & wanted) != 0) {
    act(number, event);
  }
  socket = current();  // Curl may have closed it, and opened another of the same number.
  if (socket != nullptr && !failed) arm(*socket);
}

void CurlMulti::act(curl_socket_t number, int events) {
  int running = 0;
  curl_multi_socket_action(multi_, number, events, &running);
  int left = 0;
  while (CURLMsg* message = curl_multi_info_read(multi_, &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    // Removing the handle frees the message.
    const CURLcode result = message->data.result;
    CURL* handle = message->easy_handle;
    Job* job = nullptr;
    curl_easy_getinfo(handle, CURLINFO_PRIVATE, &job);
    curl_multi_remove_handle(multi_, handle);
    job->done(result);
  }
}

void CurlMulti::expired() { act(CURL_SOCKET_TIMEOUT, 0); }

}  // namespace isthmus::net
