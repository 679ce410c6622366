// Who has written which field of an object, as the API server keeps it in metadata.managedFields:
// most of an object's bytes, which is why no watch or list of ours keeps it. Read it live, of one
// object, when somebody has to be named.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "isthmus/base/result.h"

namespace isthmus::kube {

// The names of the fields and keys from the outside in: {"metadata", "labels", "example.com/rack"};
// of a list by types, the type: {"status", "conditions", "Ready"}.
using FieldPath = std::vector<std::string>;

// "metadata.labels[example.com/rack]", "status.addresses".
std::string to_string(const FieldPath& path);

struct FieldWriter {
  std::string manager = {};      // "kubectl-edit": the client's name for itself.
  std::string operation = {};    // "Apply" or "Update".
  std::string subresource = {};  // "status", or empty.
  std::string time = {};         // RFC 3339, when it last changed which fields it has.

  friend bool operator==(const FieldWriter&, const FieldWriter&) = default;
};

// The writers that have this field, or something in it or around it as a whole, of a document as
// the server sends it; the latest first. Empty: nobody has it (who removes a field has it no
// longer), or the server does not say. lost: no JSON object.
Result<std::vector<FieldWriter>> writers_of(std::string_view document, const FieldPath& path);

}  // namespace isthmus::kube
