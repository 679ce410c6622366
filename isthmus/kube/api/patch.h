// Writing to the Kubernetes API: minimal patches with preconditions, and the bodies of creations.
//
// Every patch of an object carries the uid of the object it was thought out for, so that a namesake
// which took its place is never written to, and where it replaces something that it has read, also
// the resourceVersion at which it was read. What a real API server answers when these do not hold
// (measured on v1.37):
//
//   resourceVersion stale, uid right or wrong    409 Conflict
//   uid wrong, no resourceVersion                422 Invalid ("field is immutable"), not 409
//   a JSON patch whose `test` fails              422 Invalid
//   object gone                                  404 NotFound; 409 to the PUT of a Lease
//
// After a 422 to a patch with a precondition the sender therefore reads the object live: if the uid
// or the resourceVersion moved it was a conflict, and only otherwise the patch itself is invalid.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "isthmus/base/result.h"
#include "isthmus/kube/api/event.h"
#include "isthmus/kube/api/lease.h"
#include "isthmus/kube/api/node.h"
#include "isthmus/kube/api/service.h"

namespace isthmus::kube {

// Merge is RFC 7386: objects are merged, null removes, lists are replaced. Strategic merge is the
// API server's own: some lists merge by key, and directives steer it. JSON patch is RFC 6902.
// Whole is no patch but a PUT: what the body does not say is gone.
enum class PatchType : std::uint8_t { merge, strategic_merge, json, whole };

// The Content-Type of the request.
std::string_view content_type(PatchType type);

struct Precondition {
  std::string uid = {};
  std::string resource_version = {};  // Empty: only the identity matters.

  friend bool operator==(const Precondition&, const Precondition&) = default;
};

// That an object is still exactly what was read, or merely still the same object.
Precondition unchanged(const ObjectMeta& meta);
Precondition same_object(const ObjectMeta& meta);

struct Patch {
  PatchType type = PatchType::merge;
  Precondition precondition = {};  // Already part of the body; here for judging a 422.
  std::string body = {};

  friend bool operator==(const Patch&, const Patch&) = default;
};

// What shall change in the main resource of a Node. Empty parts change nothing.
struct NodeChange {
  StringMap labels = {};                         // Set, whatever they were.
  std::vector<std::string> removed_labels = {};  // Harmless where absent; never also in `labels`.
  StringMap annotations = {};
  std::vector<std::string> removed_annotations = {};
  std::string provider_id = {};  // Only ever set where there is none: it is immutable.

  // Keys; every taint of that key, whatever its effect.
  std::vector<std::string> removed_taints = {};
  // Each replaces in place a taint of equal key and effect.
  std::vector<Taint> added_taints = {};

  bool empty() const;

  friend bool operator==(const NodeChange&, const NodeChange&) = default;
};

// One patch of `nodes/<name>` with all of it, or nullopt when `seen` already is so.
//
// It is a merge patch that carries uid and resourceVersion of `seen`. Why not a JSON patch or a
// strategic merge for the taints: spec.taints is an atomic list without a merge key, so both of the
// merge kinds send the list whole, and a JSON patch removes by position. All three need to know
// that the list is still the one that was read, and of the ways to say so only resourceVersion is
// answered with an honest 409. A taint that somebody added in between is so never lost: the patch
// fails, the Node is read again and decided again. Taints that stay are sent back as they came,
// with fields that we do not know (Taint::raw).
// Its price: any write in between, such as a kubelet's status, is a conflict too; read, decide,
// send.
std::optional<Patch> node_patch(const Node& seen, const NodeChange& change);

// The Node as that patch leaves it, but for its metadata, of which only the server knows the
// version.
Node changed(Node seen, const NodeChange& change);

// Replaces `status.addresses` by exactly this list, in this order. For `nodes/<name>/status`.
// A merge patch, which replaces lists whole; strategic merge would merge addresses by type, lose
// the second one of a type and keep the old order, unless told `$patch: replace`.
Patch node_addresses_patch(const Precondition& precondition,
                           const std::vector<NodeAddress>& addresses);

// Sets one condition and leaves those of others alone. For `nodes/<name>/status`. A strategic
// merge, which merges conditions by type; needs no more than the uid, because only its owner writes
// it.
struct NodeConditionChange {
  std::string type = {};
  std::string status = {};
  std::string reason = {};
  std::string message = {};
  std::string heartbeat_time = {};   // RFC 3339, whole seconds.
  std::string transition_time = {};  // Empty: the status stays what it was.
};
Patch node_condition_patch(const Precondition& precondition, const NodeConditionChange& condition);

// Replaces `status.loadBalancer.ingress`. For `services/<name>/status`. A merge patch.
Patch service_ingress_patch(const Precondition& precondition,
                            const std::vector<LoadBalancerIngress>& ingress);

// Add or remove one finalizer and leave those of others alone. Strategic merges, because
// metadata.finalizers merges as a set there, so nobody else's is lost even without a
// resourceVersion. Both can be repeated. Removing one that is absent changes nothing.
Patch add_finalizer_patch(const ObjectMeta& meta, std::string_view finalizer);
Patch remove_finalizer_patch(const ObjectMeta& meta, std::string_view finalizer);

// The body that creates a Lease. A namesake answers 409 AlreadyExists.
std::string lease_body(const ObjectKey& key, const LeaseSpec& spec);

// Takes, renews or frees a Lease: the document that was read, with the five fields of `spec` in it.
// It is the one object that is written whole, because a role made for upstream's manager allows to
// update the Lease and not to patch it; what others have written there stays all the same. `seen`
// must have its document and a resourceVersion (asserted): a 409 on it is the only mutual exclusion
// that leaders have. An empty holder is sent as such, and frees the Lease; empty times are sent as
// null. lost: what we do not know of the document is not JSON.
Result<Patch> lease_update(const Lease& seen, const LeaseSpec& spec);

// The body that creates an Event, and the patch that counts a further occurrence: count, message
// and lastTimestamp of `event`. Events expire, so the patch of one may well find it gone (404:
// create it anew). It carries the uid if `event` has one.
std::string event_body(const Event& event);
Patch event_patch(const Event& event);

// The body of a DELETE that only deletes what was seen. A uid or resourceVersion that differs
// answers 409 Conflict.
std::string delete_options_body(const Precondition& precondition);

}  // namespace isthmus::kube
