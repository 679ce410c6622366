// Whose things are whose. Everything made in a cloud carries the uid of the cluster that made it:
// the uid of the kube-system namespace, which is made by the API server and lives as long as the
// cluster. A cluster's name is a word that people reuse, and two clusters with one name in one
// account would delete each other's load balancers.
#pragma once

#include <string>
#include <string_view>

#include "isthmus/base/result.h"

namespace isthmus::cloud {

// The label by which things in a cloud say whose they are; its value is ClusterUid::text().
inline constexpr std::string_view kClusterLabel = "isthmus.dev/cluster";

class ClusterUid {
 public:
  // invalid: not a UUID in its 36 character form. Upper case is read as lower case.
  static Result<ClusterUid> parse(std::string_view text);

  // Lower case, with dashes.
  const std::string& text() const { return text_; }

  friend auto operator<=>(const ClusterUid&, const ClusterUid&) = default;

 private:
  explicit ClusterUid(std::string text) : text_(std::move(text)) {}

  std::string text_;
};

// The name of a thing made for one object of the cluster: `<kind>-<cluster>-<object>`, both uids in
// base 36. At most 63 characters of a-z, 0-9 and dash for a kind of up to 11, which every cloud
// takes; nothing is hashed, so two objects never share a name and one can tell whose it is.
// invalid: the object's uid is no UUID.
Result<std::string> owned_name(std::string_view kind, const ClusterUid& cluster,
                               std::string_view object_uid);

// The name of a thing of which the cluster has one: `<kind>-<cluster>`.
std::string cluster_name(std::string_view kind, const ClusterUid& cluster);

// Whether a name was made by owned_name for this cluster and kind, whatever the object.
bool is_owned_name(std::string_view name, std::string_view kind, const ClusterUid& cluster);

}  // namespace isthmus::cloud
