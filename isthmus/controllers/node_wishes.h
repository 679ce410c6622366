// What is to be written of a Node field by field: each may be somebody else's wish as well
// (contested.h). A taint is a field of its own, although the API has them as one list.
#pragma once

#include <vector>

#include "isthmus/controllers/contested.h"
#include "isthmus/controllers/node_plan.h"

namespace isthmus::controllers {

// The fields that the plan would write of a member; none of any other plan.
std::vector<Wish> wishes_of(const NodePlan& plan);
Wish address_wish(const std::vector<kube::NodeAddress>& addresses);
std::vector<Wish> wishes_of(const kube::NodeChange& change);

// The same without what is not allowed.
Refresh limited_to(const std::vector<Wish>& allowed, Refresh act);
kube::NodeChange limited_to(const std::vector<Wish>& allowed, kube::NodeChange change);

}  // namespace isthmus::controllers
