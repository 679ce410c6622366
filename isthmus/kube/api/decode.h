// From the API server's bytes to values.
//
// A malformed answer never looks like a deleted object. Therefore there are two kinds of failure:
// - The text is not JSON, is cut short, is followed by something, or is another kind of thing than
//   was asked for (HTML, another list): the whole answer fails, with Outcome::lost.
// - One object in a sound answer has a field of a wrong type, or lacks its uid or resourceVersion:
//   that object is *unreadable*. Its Decoded carries the key and an error naming the field, and the
//   rest of the answer stands. An object whose very name cannot be read fails the whole answer.
//
// What is skipped is not validated (simdjson on demand: `{"skipped": tru}` passes), which is right
// for an API server we trust, and wrong for anybody else's input. null means absent, as it does to
// the server; a key that is repeated counts the last time; fields that we do not know are ignored.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "isthmus/base/result.h"
#include "isthmus/kube/api/config_map.h"
#include "isthmus/kube/api/event.h"
#include "isthmus/kube/api/lease.h"
#include "isthmus/kube/api/namespace.h"
#include "isthmus/kube/api/node.h"
#include "isthmus/kube/api/service.h"
#include "isthmus/kube/api/status.h"

namespace isthmus::kube {

// What is kept of an object beyond what its struct always has.
struct Projection {
  // Whether an annotation is kept. Annotations are most of what others hang on an object, so
  // whoever watches thousands keeps only the ones it reads.
  bool (*keeps_annotation)(std::string_view key) = all_but_last_applied;

  // Everything but kubectl's copy of the whole object.
  static bool all_but_last_applied(std::string_view key);
};

// An object of a list or a watch. Where it is unreadable, the key is right and so are the uid and
// the resource version if they are not empty; `object` holds an error (lost) naming the field.
template <class T>
struct Decoded {
  ObjectKey key = {};
  std::string uid = {};
  std::string resource_version = {};
  Result<T> object = fail(Outcome::lost, "never decoded");
};

// One page of a list. It is the last when the continue token is empty; only then the list is whole.
template <class T>
struct ListPage {
  std::vector<Decoded<T>> items = {};
  std::string resource_version = {};  // Never empty.
  std::string continue_token = {};

  // remainingItemCount, which the server may leave out.
  std::optional<std::int64_t> remaining = {};
};

enum class ChangeKind : std::uint8_t { added, modified, deleted };

template <class T>
struct Change {
  ChangeKind kind = ChangeKind::added;
  Decoded<T> item = {};
};

struct Bookmark {
  std::string resource_version = {};  // Never empty.
  bool initial_events_end = false;    // Ends the initial burst of a streaming list (KEP-3157).
};

// One line of a watch: a change, a bookmark, or the error with which the server ends the stream.
template <class T>
using WatchEvent = std::variant<Change<T>, Bookmark, Status>;

// Decodes Node, NodeMetadata, Service, Lease, Event, Namespace and ConfigMap. A resource: it keeps
// its working memory from one call to the next, about as much as the largest text was long, and
// gives it back after a text of more than a MiB.
//
// The texts are taken by reference because decoding may enlarge their capacity (the parser reads
// a few bytes past the end); their content stays as it was.
class Decoder {
 public:
  explicit Decoder(Projection projection = {});
  ~Decoder();
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  // A single object, as GET, POST and PATCH answer. lost: not JSON, not of this kind, unreadable.
  template <class T>
  Result<T> object(std::string& json);

  // The same, of the object that was asked for. lost: also one of another name, which says nothing
  // about the one that was meant.
  template <class T>
  Result<T> object(std::string& json, const ObjectKey& asked_for);

  // One page of the list of all T. lost: see above, or a list without a resourceVersion.
  template <class T>
  Result<ListPage<T>> page(std::string& json);

  // One line of a watch of T, with or without its line feed. lost: see above, or a type of event
  // that does not exist.
  template <class T>
  Result<WatchEvent<T>> watch_line(std::string& line);

  // The body of a refusal. lost: anything that is not a Status, so a proxy's 404 is no answer about
  // an object.
  Result<Status> status(std::string& json);

 private:
  struct Parser;

  Projection projection_;
  std::unique_ptr<Parser> parser_;
};

}  // namespace isthmus::kube
