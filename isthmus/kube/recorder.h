// Events: what a controller tells people about an object, in their own words.
//
//   recorder.warning(reference_to(*node), "FailedToInitialize", "no machine has this address");
//
// Telling never blocks and never fails: a note is correlated (correlator.h: combined, counted up,
// or dropped as spam), queued (beyond the limit dropped), and posted with a few others at a time,
// so that one slow answer does not hold up the rest. What became of each is counted in
// isthmus_events_total by `fate`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "isthmus/base/clock.h"
#include "isthmus/base/log.h"
#include "isthmus/base/loop.h"
#include "isthmus/base/metrics.h"
#include "isthmus/base/random.h"
#include "isthmus/base/result.h"
#include "isthmus/base/task.h"
#include "isthmus/kube/api/event.h"
#include "isthmus/kube/api/meta.h"
#include "isthmus/kube/api_door.h"

namespace isthmus::kube {

// One thing to tell.
struct Note {
  ObjectReference about;
  std::string_view type;  // kEventNormal or kEventWarning.
  std::string reason;     // UpperCamelCase, for machines: people filter by it.
  std::string message;    // A sentence; cut at kNoteMessageBytesMax.
};

// The API server's own limit on an Event's message.
inline constexpr std::size_t kNoteMessageBytesMax = 1024;

// The door that controllers hold. Each has its own, which knows the component's name.
class Recorder {
 public:
  virtual ~Recorder() = default;
  virtual void record(Note note) = 0;

  void normal(ObjectReference about, std::string reason, std::string message) {
    record({std::move(about), kEventNormal, std::move(reason), std::move(message)});
  }
  void warning(ObjectReference about, std::string reason, std::string message) {
    record({std::move(about), kEventWarning, std::move(reason), std::move(message)});
  }
};

// What became of a note.
enum class NoteFate : std::uint8_t {
  posted,
  queue_full,
  spam,
  refused,  // By the server, typed; a namespace that is being deleted refuses every event.
  lost,     // No answer in all the tries.
  stopped,  // Not posted when run() ended.
};
std::string_view to_string(NoteFate fate);

struct BroadcasterLimits {
  std::size_t notes_max = 1000;   // Waiting; upstream's number. A note is about 500 bytes.
  std::size_t posts_at_once = 8;  // 100 events/s at 80 ms each.
  int tries_max = 12;  // Of one post whose answer was lost; 10 s apart, upstream's numbers.
  Duration pause = std::chrono::seconds(10);
};

// Posts the notes of all recorders. A resource; outlives its recorders.
class Broadcaster {
 public:
  // The api is one for events alone, with a budget of its own: events must not slow down work.
  Broadcaster(ApiDoor& api, Loop& loop, Random& random, Metrics& metrics, Logger& log,
              BroadcasterLimits limits = {});
  ~Broadcaster();

  // A door for one component ("cloud-node-controller"), which becomes the source of its events.
  std::unique_ptr<Recorder> recorder(std::string component);

  // Posts until the scope is cancelled. What is queued then counts as `stopped`.
  Task<Result<>> run();

  // ok as soon as nothing is queued or being posted. For an orderly exit, with a deadline of the
  // caller's; run() must be running.
  Task<Result<>> flush();

  // For tests.
  std::uint64_t count(NoteFate fate) const;

 private:
  struct Inside;
  std::unique_ptr<Inside> inside_;
};

}  // namespace isthmus::kube
