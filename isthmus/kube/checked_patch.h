// A patch whose refusal is understood.
//
// A real API server answers 422 Invalid, not 409 Conflict, to a patch whose uid is that of an
// earlier namesake, and to a JSON patch whose `test` fails (measured on v1.37). A controller that
// believed it would park a key that only needs to be looked at again.
#pragma once

#include <string>

#include "isthmus/kube/api_door.h"

namespace isthmus::kube {

// Sends the patch; the object as patched. When it is refused as invalid and carried a precondition,
// the live object is read: conflict if its uid or resourceVersion, or a field that the patch tests,
// is not what the patch said; absent if it is gone; invalid, with the server's own words, only if
// everything it said holds. If the live object cannot be read, that error is answered, because then
// nothing is known about the patch.
Task<Result<std::string>> checked_patch(ApiDoor& api, PatchRequest request);

}  // namespace isthmus::kube
