// The watcher: keeps one Store true to the API server, for ever.
//
// It asks for a streaming list, falls back to a paged one, follows the changes, resumes after cuts
// from the last version seen (bookmarks included), and starts over when the server has forgotten
// that version. The states and what leads from one to the next are in watcher_state.h; here is the
// IO around them. It never gives up: whatever happens, the store keeps the last whole view.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "isthmus/base/backoff.h"
#include "isthmus/base/clock.h"
#include "isthmus/base/log.h"
#include "isthmus/base/metrics.h"
#include "isthmus/base/random.h"
#include "isthmus/base/result.h"
#include "isthmus/base/task.h"
#include "isthmus/kube/api/decode.h"
#include "isthmus/kube/api_door.h"
#include "isthmus/kube/list_all.h"
#include "isthmus/kube/store.h"
#include "isthmus/kube/watcher_state.h"

namespace isthmus::kube {

// Where a watcher puts what it reads: the part that knows the type of the objects.
class WatchSink {
 public:
  virtual ~WatchSink() = default;

  // Understands one page, and keeps it aside. lost: not a page of these objects.
  virtual Result<watching::PageRead> page(std::string text) = 0;

  // Understands one line and holds on to it until the next; Arrived, Marked, Refused or Garbled.
  virtual watching::Input line(std::string text) = 0;

  // What to do with what page() or line() holds.
  virtual void perform(watching::Effect effect) = 0;

  // The objects whose newest state could not be read, and why.
  virtual const std::map<ObjectKey, std::string>& unreadable() const = 0;
};

struct WatcherOptions {
  ObjectKey only = {};  // Empty: all objects, else as in a ListRequest.
  std::int64_t page_limit = kListPage;
  Duration watch_timeout_min = std::chrono::seconds(300);  // The server ends a watch after a time
  Duration watch_timeout_max = std::chrono::seconds(600);  // between these.
  // Silence in which a watch counts as dead. A server sends bookmarks once a minute.
  Duration idle_max = std::chrono::seconds(90);
  Duration collecting_idle_max = std::chrono::seconds(30);
};

// A resource. Watches the objects of one type.
class Watcher {
 public:
  Watcher(ApiDoor& api, ResourceType resource, WatchSink& sink, const Clock& clock, Random& random,
          Metrics& metrics, Logger& log, WatcherOptions options = {});

  // Until the scope is cancelled.
  Task<Result<>> run();

  // For /livez and /readyz: what it is doing, and when the server last said anything. While it
  // follows, silence counts as an outage only after idle_max().
  std::string_view state() const { return name_of(state_); }
  bool is_following() const { return std::holds_alternative<watching::Following>(state_); }
  Duration idle_max() const { return options_.idle_max; }
  Moment last_heard() const { return last_heard_; }

  // Why the last list or watch was not granted; nullopt: it was, or none has been answered yet.
  const std::optional<Error>& refusal() const { return refusal_; }

 private:
  Task<Result<watching::Input>> next_input();
  Task<Result<watching::Input>> open(WatchRequest request);
  Task<Result<watching::Input>> read_page(std::string continue_token);
  Task<Result<watching::Input>> read_line(Duration idle_max);
  std::optional<Duration> take(const watching::Input& input);
  void forgive(const watching::Input& input);
  void note_refusal(const watching::Input& input);
  void tell_unreadable();
  WatchRequest watch_from(std::string version, bool initial_events);

  ApiDoor& api_;
  const ResourceType resource_;
  WatchSink& sink_;
  const Clock& clock_;
  Random& random_;
  Logger& log_;
  const WatcherOptions options_;
  Counter& lists_;
  Counter& watches_;
  Gauge& unreadable_;
  Backoff backoff_;

  watching::State state_ = watching::Opening{};
  std::unique_ptr<WatchStream> stream_;  // Open while collecting or following.
  int stream_failures_ = 0;
  bool was_forgotten_ = false;  // The last failure was a version that is gone.
  std::size_t told_unreadable_ = 0;
  Moment last_heard_{};
  std::optional<Error> refusal_;
};

// The sink that fills a store.
template <class T>
class StoreSink final : public WatchSink {
 public:
  explicit StoreSink(Store<T>& store, Projection projection = {})
      : store_(store), decoder_(projection) {}

  Result<watching::PageRead> page(std::string text) override;
  watching::Input line(std::string text) override;
  void perform(watching::Effect effect) override;
  const std::map<ObjectKey, std::string>& unreadable() const override {
    return store_.all_unreadable();
  }

 private:
  void collect();

  Store<T>& store_;
  Decoder decoder_;
  std::vector<Decoded<T>> page_;
  Change<T> change_;
  std::map<ObjectKey, Decoded<T>> collected_;
};

}  // namespace isthmus::kube

#include "isthmus/kube/watcher_impl.h"
