// What the API server accepts as a name, a label key and a label value. Checked before we send, so
// that one bad word from a cloud costs that word and not the whole patch.
//
// Rules: https://kubernetes.io/docs/concepts/overview/working-with-objects/names/ and /labels/.
#pragma once

#include <string>
#include <string_view>

#include "isthmus/base/result.h"

namespace isthmus::kube {

// [prefix "/"] name: the name at most 63 characters, alphanumeric at both ends, with "-", "_" and
// "." inside; the prefix a DNS subdomain. Also the rule for annotation and taint keys.
// invalid says which part breaks which rule, quoting the key.
Result<> check_label_key(std::string_view key);

// Empty, or as the name above.
Result<> check_label_value(std::string_view value);

// RFC 1123 subdomain: at most 253 characters, labels of lower-case letters, digits and "-" between
// dots, alphanumeric at their ends. The names of Nodes, Events and Leases.
Result<> check_dns_subdomain(std::string_view name);

}  // namespace isthmus::kube
