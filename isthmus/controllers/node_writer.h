// Writing to one Node with preconditions, and reading it live: the steps that every plan for a Node
// is performed by. What was written is known before the watch says so (newest.h).
#pragma once

#include <memory>
#include <string>

#include "isthmus/controllers/newest.h"
#include "isthmus/kube/api/decode.h"
#include "isthmus/kube/api/node.h"
#include "isthmus/kube/api_door.h"
#include "isthmus/kube/store.h"

namespace isthmus::controllers {

// A resource; the doors outlive it.
class NodeWriter final {
 public:
  using NodePtr = kube::Snapshot<kube::Node>;

  NodeWriter(kube::Store<kube::Node>& nodes, kube::ApiDoor& api, kube::Projection projection)
      : api_(api), newest_(nodes), decoder_(projection) {}

  // The newest that is known; null: there is none.
  NodePtr find(const kube::ObjectKey& key) const { return newest_.find(key); }

  // One patch. Done: the Node as patched. Not done, because it is no longer what was decided about:
  // the Node as it is live, null if it is gone. Errors: the API's; lost also where another Node
  // answers.
  struct Patched {
    bool done = false;
    NodePtr node = {};
  };
  Task<Result<Patched>> change(NodePtr node, kube::NodeChange change);

  // The live Node; null if it is gone.
  Task<Result<NodePtr>> read_live(NodePtr node);

  // The two halves of change(), for a caller who says itself what becomes of a refusal. The answer
  // to a patch of `subresource` is read by answered(), with the Node as the patch leaves it but for
  // its metadata.
  Task<Result<std::string>> send(NodePtr node, std::string subresource, kube::Patch patch);
  Result<NodePtr> answered(const kube::Node& node, std::string& answer, kube::Node after);

  // Deletes exactly this Node at exactly this version. Ok also when it is gone already; conflict:
  // it has changed, or another Node has its name.
  Task<Result<>> remove(NodePtr node);

 private:
  kube::ApiDoor& api_;
  Newest<kube::Node> newest_;
  kube::Decoder decoder_;
};

}  // namespace isthmus::controllers
