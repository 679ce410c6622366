// Which Node has which machine: by the Nodes as the API server told them, and by those that are
// being written right now. Without the second part, two new Nodes that match one machine could both
// become it between the decision and its echo.
//
// A providerID is only a text that anybody may write into a Node of their own, so the first Node
// (by creation, then by name) keeps the machine, whoever else names it later.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "isthmus/kube/api/node.h"
#include "isthmus/kube/store.h"

namespace isthmus::controllers {

// A resource; the store outlives it, and it outlives every publication of the store.
class MachineClaims final {
 public:
  explicit MachineClaims(kube::Store<kube::Node>& nodes);
  MachineClaims(const MachineClaims&) = delete;
  MachineClaims& operator=(const MachineClaims&) = delete;

  // The name of the Node, if it is another than this one, that has the machine or is about to.
  std::optional<std::string> holder(const std::string& provider_id,
                                    const kube::ObjectKey& but) const;

  // This Node is about to get the machine. Ends when the store shows the Node with a providerID or
  // without itself, or with release(). Claiming what another Node holds is a bug: ask first.
  void claim(const std::string& provider_id, const kube::ObjectKey& node);

  // This Node will not get the machine it claimed; harmless without one.
  void release(const kube::ObjectKey& node);

 private:
  void note(const kube::Difference<kube::Node>& difference);

  using Holder = std::pair<WallTime, kube::ObjectKey>;  // The oldest comes first.

  std::map<std::string, std::set<Holder>> held_;  // By provider id, from the store.
  std::map<std::string, kube::ObjectKey> claimed_;
};

}  // namespace isthmus::controllers
