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
//   busy         429 or an overloaded server; Error::retry_after says when, if the server did
//   denied       401 or 403; a rejected token has been dropped, so the next call sends a fresh one
//   invalid      400, 413 or 422: this request will never work. For a patch with preconditions ask
//                checked_patch.h, because the API calls some conflicts invalid
//   unsupported  405, 406, 415, 501: this server cannot do that at all
//   lost         everything else; for a write the effect is unknown
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "isthmus/base/result.h"
#include "isthmus/base/task.h"

namespace isthmus::kube {

// A kind of object and where the API keeps it. The texts are literals.
struct Resource {
  std::string_view group;  // Empty for the core group.
  std::string_view version;
  std::string_view plural;
  std::string_view kind;
  bool namespaced = false;

  friend bool operator==(const Resource&, const Resource&) = default;
};

inline constexpr Resource kNodes{"", "v1", "nodes", "Node", false};
inline constexpr Resource kServices{"", "v1", "services", "Service", true};
inline constexpr Resource kNamespaces{"", "v1", "namespaces", "Namespace", false};
inline constexpr Resource kEvents{"", "v1", "events", "Event", true};
inline constexpr Resource kLeases{"coordination.k8s.io", "v1", "leases", "Lease", true};

// One object's address. The namespace is empty exactly for what is not namespaced.
struct ObjectName {
  Resource resource;
  std::string name_space;
  std::string name;

  // "namespace/name", or "name": the key by which stores and queues know it.
  std::string key() const { return name_space.empty() ? name : name_space + "/" + name; }

  friend bool operator==(const ObjectName&, const ObjectName&) = default;
};

// The reverse of ObjectName::key. A key of a namespaced resource has exactly one slash.
ObjectName object_named(const Resource& resource, std::string_view key);

// One page of a list, of all namespaces. No resource version is asked for: the answer is as fresh
// as the server's consistent read, and can never be older than an earlier one.
struct ListRequest {
  Resource resource;
  std::int64_t limit = 0;      // Zero: everything in one answer.
  std::string continue_token;  // From the page before; conflict when the server forgot it.
};

struct WatchRequest {
  Resource resource;
  std::string name;              // Not empty: only this object, in `name_space`.
  std::string name_space;
  std::string resource_version;  // The last version seen; empty only with send_initial_events.
  // A streaming list: the state comes first as ADDED events, then a BOOKMARK marked as their end.
  bool send_initial_events = false;
  Duration timeout = std::chrono::minutes(5);  // The server ends the stream by then.
};

// What is put in place of what: see https://kubernetes.io/docs/reference/using-api/api-concepts/.
enum class PatchKind : std::uint8_t {
  json,             // RFC 6902, with `test` operations.
  merge,            // RFC 7386.
  strategic_merge,  // Kubernetes' own, which knows the keys of lists.
};

struct PatchRequest {
  ObjectName object;
  PatchKind kind = PatchKind::strategic_merge;
  std::string subresource;  // Empty, or "status".
  std::string body;
};

struct CreateRequest {
  Resource resource;
  std::string name_space;
  std::string body;  // Its metadata.name is what the API will call it.
};

// A delete without a uid cannot be said: the object under a name may be another one by now.
struct DeleteRequest {
  ObjectName object;
  std::string uid;
  std::string resource_version;  // Empty: any.
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

// Every call can also fail with cancelled or deadline of the calling scope; the effect of a write is
// unknown then. No call retries.
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
  // The object as patched.
  virtual Task<Result<std::string>> patch(PatchRequest request) = 0;
  // ok: gone, or marked as being deleted when something still holds it.
  virtual Task<Result<>> remove(DeleteRequest request) = 0;
};

}  // namespace isthmus::kube
