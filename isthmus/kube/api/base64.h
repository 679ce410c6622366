// Base64 as kubeconfigs and ConfigMaps carry bytes in it (RFC 4648 section 4).
#pragma once

#include <string>
#include <string_view>

#include "isthmus/base/result.h"

namespace isthmus::kube {

// Decodes the standard alphabet with padding; line ends are skipped, as Go's decoder does.
// invalid: any other character, padding that is missing or in the wrong place, and bits left over
// that are not zero, so that no two texts decode to the same bytes but for line ends. The message
// never quotes the text, which may be a key.
Result<std::string> decode_base64(std::string_view text);

}  // namespace isthmus::kube
