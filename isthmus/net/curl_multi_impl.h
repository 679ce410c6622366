// libcurl's multi interface on our reactor: which sockets it wants watched, when it wants to be
// called, and which transfers have ended.
#pragma once

#include <curl/curl.h>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "isthmus/base/loop.h"
#include "isthmus/net/reactor_impl.h"

namespace isthmus::net {

// Owns the connections of one transport. A resource; outlives its jobs.
class CurlMulti final : private Timer {
 public:
  // A transfer, as seen from here. Lives at least until done() or remove().
  class Job {
   public:
    // It has ended and been removed. Called between turns; resumes nothing itself.
    virtual void done(CURLcode result) = 0;

   protected:
    ~Job() = default;
  };

  // Keeps at most this many connections open, idle ones included.
  CurlMulti(PosixWorld::Reactor& reactor, std::size_t connections_max);
  ~CurlMulti();

  // An easy handle without any options, from the pool or new; given back when no job uses it.
  CURL* take_handle();
  void give_back(CURL* handle);

  // Starts a transfer with a handle that has all its options.
  void add(CURL* handle, Job& job);

  // Ends it where it stands, which closes its connection; nothing is called afterwards.
  void remove(CURL* handle);

  // Lets a transfer go on whose write callback has answered CURL_WRITEFUNC_PAUSE.
  void resume(CURL* handle);

  // Whether the deadlines of the jobs are to be looked at before anything is sent.
  bool has_overslept() const { return reactor_.has_overslept(); }

 private:
  struct Socket;
  struct Guard;

  static int on_socket(CURL* handle, curl_socket_t number, int what, void* self, void* socket);
  static int on_timer(CURLM* multi, long milliseconds, void* self);

  void watch(curl_socket_t number, int what);
  void arm(Socket& socket);
  void wait_for(Socket& socket, int event);
  void ready(curl_socket_t number, std::uint64_t generation, int event, bool failed);
  void act(curl_socket_t number, int events);
  void expired() override;

  PosixWorld::Reactor& reactor_;
  std::shared_ptr<Guard> guard_;  // Tells handlers that come late that we are gone.
  CURLM* multi_;
  std::map<curl_socket_t, std::unique_ptr<Socket>> sockets_;
  std::uint64_t next_generation_ = 0;
  std::vector<CURL*> idle_handles_;
};

}  // namespace isthmus::net
