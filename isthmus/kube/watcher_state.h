// The states of a watcher and what leads from one to the next, without any IO.
//
//   Opening     accepted: Collecting            the server cannot stream lists: Paging
//   Collecting  end of the objects: Following   ended, cut: Opening     too slow, silent: Paging
//   Paging      last page: Connecting           page forgotten: from the first page
//   Connecting  accepted: Following             version gone (410): Opening
//   Following   ended, cut: Connecting          version gone, refused, garbled: Opening
//
// Whatever else goes wrong is tried again in the same state after a pause.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "isthmus/base/clock.h"
#include "isthmus/base/result.h"

namespace isthmus::kube::watching {

// A streaming list is being asked for: the state as objects, then changes on the same stream. It
// shall not be older than `floor`, the last version we know, lest we travel back in time to a
// server that lags; empty: as new as the server's own store.
struct Opening {
  std::string floor;
  friend bool operator==(const Opening&, const Opening&) = default;
};

// The objects of a streaming list come in. Nothing of them is published before their end is marked.
struct Collecting {
  std::string floor;
  friend bool operator==(const Collecting&, const Collecting&) = default;
};

// The list is read page by page, because the server cannot stream it or did not finish. Nothing is
// published before the last page.
struct Paging {
  std::string continue_token;
  friend bool operator==(const Paging&, const Paging&) = default;
};

// The view is whole as of `version`, and a watch from there is being asked for.
struct Connecting {
  std::string version;
  friend bool operator==(const Connecting&, const Connecting&) = default;
};

// Changes come in. `version` is what we have seen; with it the watch is resumed after a cut.
struct Following {
  std::string version;
  Moment since;       // When the server accepted it.
  bool news = false;  // Whether anything came; a watch that ends at once without is an error.
  friend bool operator==(const Following&, const Following&) = default;
};

using State = std::variant<Opening, Collecting, Paging, Connecting, Following>;
std::string_view name_of(const State& state);  // "opening", …

// The watch asked for is open.
struct Accepted {};

// A call was refused or broke.
struct Failed {
  Error error;
};

// One page; no token: the last.
struct PageRead {
  std::string version, continue_token;
};

// A change; empty: its version could not be read.
struct Arrived {
  std::string version;
};

// A bookmark.
struct Marked {
  std::string version;
  bool initial_end;
};

// An ERROR line in the stream.
struct Refused {
  Error error;
};

// A line that is not understood.
struct Garbled {
  Error error;
};

// The stream was cut, not ended.
struct Broken {
  Error error;
};

// The stream was ended in order.
struct Ended {};

// Nothing came for too long.
struct Silent {};

// What can happen.
using Input = std::variant<Accepted, Failed, PageRead, Arrived, Marked, Refused, Garbled, Broken,
                           Ended, Silent>;

// What is done with what came, before the next state begins.
enum class Effect : std::uint8_t {
  none,
  collect,  // Keep this page or change aside.
  publish,  // What was kept aside (this page included) is the whole view now.
  discard,  // Forget what was kept aside.
  apply,    // Change the view.
};

struct Step {
  State next;
  Effect effect = Effect::none;
  bool pause = false;       // Back off first: something is wrong, and we are not alone.
  Duration pause_min = {};  // The server named a time.
  std::string why = {};     // For people, where a state is left that was meant to last.
};

// How often a streaming list may fail before its end until the paged list is tried; a client that
// is too slow for the stream is cut off each time, while pages wait for their reader.
inline constexpr int kStreamFailuresMax = 2;

// A watch that ends within this time without news counts as an error (upstream's number).
inline constexpr Duration kShortWatch = std::chrono::seconds(1);

// `stream_failures` counts streaming lists in a row that were accepted but not finished, this one
// not included.
Step transition(const State& state, const Input& input, Moment now, int stream_failures);

}  // namespace isthmus::kube::watching
