// What every Kubernetes object has in common: its type, its key and its metadata.
//
// Every object here is a projection: an immutable value with only the fields we use. It is never
// written back whole, because what it does not carry would be lost; patch.h has the ways to write.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "isthmus/base/clock.h"
#include "isthmus/base/result.h"
#include "isthmus/kube/api/string_map.h"

namespace isthmus::kube {

// Where objects of a type live in the API. Each object struct names its own as `T::resource`.
struct ResourceType {
  std::string_view api_version;  // "v1", "coordination.k8s.io/v1".
  std::string_view kind;         // "Node"; a list of them is of kind "NodeList".
  std::string_view plural;       // "nodes", as in paths.
  bool namespaced;
};

// The name of an object. It is what travels from a watch to a controller, and nothing else does.
// The same key may name another object a moment later: compare uids.
struct ObjectKey {
  std::string name_space = {};  // Empty for objects that live in no namespace.
  std::string name = {};

  friend auto operator<=>(const ObjectKey&, const ObjectKey&) = default;
};

// "namespace/name", or "name" for objects without a namespace.
std::string to_string(const ObjectKey& key);

// The inverse. invalid: an empty part, or more than one slash.
Result<ObjectKey> parse_object_key(std::string_view text);

// metadata, without what we never read (managedFields above all, which is most of a Node's bytes).
// Of the annotations only those are here that the decoder's Projection keeps (decode.h).
struct ObjectMeta {
  ObjectKey key = {};
  std::string uid = {};
  std::string resource_version = {};  // Opaque: only ever compared for equality and sent back.
  std::int64_t generation = 0;        // 0: the server did not send one.
  WallTime creation_time = {};
  std::optional<WallTime> deletion_time = {};  // Set: being deleted, held up by its finalizers.
  StringMap labels = {};
  StringMap annotations = {};
  std::vector<std::string> finalizers = {};

  bool has_finalizer(std::string_view finalizer) const;

  friend bool operator==(const ObjectMeta&, const ObjectMeta&) = default;
};

// Reads RFC 3339 with any zone and up to nine fractional digits, as metav1.Time and MicroTime
// are written: "2026-11-29T20:47:43Z", "2026-11-29T20:47:43.123456Z". nullopt for everything else,
// and for years before 1970 or after 2261, which nanoseconds in 64 bits cannot hold.
std::optional<WallTime> parse_rfc3339(std::string_view text);

// A reference to an object, as Events and error answers carry it.
struct ObjectReference {
  std::string api_version = {};
  std::string kind = {};
  ObjectKey key = {};
  std::string uid = {};
  std::string resource_version = {};

  friend bool operator==(const ObjectReference&, const ObjectReference&) = default;
};

template <class T>
ObjectReference reference_to(const T& object) {
  return {std::string(T::resource.api_version), std::string(T::resource.kind), object.meta.key,
          object.meta.uid, object.meta.resource_version};
}

}  // namespace isthmus::kube
