// The door to the Kubernetes API: typed requests and answers as values.
//
// A body is one JSON document, as text; kube/api decodes what comes out and encodes what goes in.
// Nothing here knows HTTP: client.h speaks it over a Transport, testing/fake_api.h answers from
// memory, and layers.h wraps one door in another (a budget, the lease).
//
// What an answer means is in its Outcome, the same for every implementation:
//   absent       the API said, typed, that this very object does not exist (never a bare 404)
//   conflict     a precondition did not hold: a resourceVersion or uid moved, the name is taken
//                already (create), or the version asked for is gone (410) or not there yet
//   busy         429, or a server in trouble (5xx: a write may have had its effect all the same);
//                Error::retry_after says when to return, if the server did
//   denied       401 or 403; a rejected token has been dropped, so the next call sends a fresh one
//   invalid      400, 413 or 422: this request will never work. Send patches that carry
//                preconditions by checked_patch.h, because the API calls some conflicts invalid
//   unsupported  405, 406, 415, 501: this server cannot do that at all
//   lost         everything else; for a write the effect is unknown
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "isthmus/base/clock.h"
#include "isthmus/base/result.h"
#include "isthmus/base/task.h"
#include "isthmus/kube/api/meta.h"
#include "isthmus/kube/api/patch.h"

namespace isthmus::kube {

// One object's address in the API.
struct ObjectName {
  ResourceType resource;
  ObjectKey key;
};

// name_of(node): the address of an object that we have.
template <class T>
ObjectName name_of(const T& object) {
  return {T::resource, object.meta.key};
}

// One page of a list. No resource version is asked for: the answer is as fresh
// as the server's consistent read, and can never be older than an earlier one.
struct ListRequest {
  ResourceType resource;
  std::int64_t limit = 0;           // Zero: everything in one answer.
  std::string continue_token = {};  // From the page before; conflict when the server forgot it.

  // Empty: all, of all namespaces. A namespace alone: all in it. With a name: only this object.
  ObjectKey only = {};
};

struct WatchRequest {
  ResourceType resource;
  ObjectKey only = {};                // As in a list.
  std::string resource_version = {};  // The last version seen; empty only with send_initial_events.
  // A streaming list: the state comes first as ADDED events, then a BOOKMARK marked as their end.
  bool send_initial_events = false;
  Duration timeout = std::chrono::minutes(5);  // The server ends the stream by then.
};

struct CreateRequest {
  ObjectName object;
  std::string body;  // Its metadata says the same name and namespace.
};

struct PatchRequest {
  ObjectName object;
  std::string subresource = {};  // Empty, or "status".
  Patch patch = {};

  // Answer a PartialObjectMetadata (NodeMetadata of api/node.h): of a Node, that is a fraction of
  // its bytes, and whoever sent the patch knows the rest.
  bool metadata_only = false;
};

// A delete without a uid cannot be said: by now the object under a name may be another one.
struct DeleteRequest {
  ObjectName object;
  Precondition precondition;  // The uid must not be empty.
};

// A running watch. Destroying it ends it.
class WatchStream {
 public:
  virtual ~WatchStream() = default;

  // The next event as one JSON document: {"type":"ADDED","object":{…}}. An empty text is the
  // server's orderly end. An event of type ERROR is passed on like any other.
  // Errors: lost (broken off, or a line too long), cancelled and deadline: call again to go on.
  virtual Task<Result<std::string>> next() = 0;
};

// Every call can also fail with cancelled or deadline of the calling scope; the effect of a write
// is unknown then. No call retries.
class ApiDoor {
 public:
  virtual ~ApiDoor() = default;

  // The live object.
  virtual Task<Result<std::string>> get(ObjectName object) = 0;
  // A list document; its metadata.continue names the next page, if there is one.
  virtual Task<Result<std::string>> list(ListRequest request) = 0;
  // Answers as soon as the server has accepted the watch.
  virtual Task<Result<std::unique_ptr<WatchStream>>> watch(WatchRequest request) = 0;
  // The object as created.
  virtual Task<Result<std::string>> create(CreateRequest request) = 0;
  // The object as patched, or its metadata. Needs the verb patch, or update where it is written
  // whole.
  virtual Task<Result<std::string>> patch(PatchRequest request) = 0;
  // ok: gone, or marked as being deleted when something still holds it.
  virtual Task<Result<>> remove(DeleteRequest request) = 0;
};

}  // namespace isthmus::kube
