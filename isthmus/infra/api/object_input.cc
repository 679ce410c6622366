#include "isthmus/infra/api/object_input.h"

namespace isthmus::infra::api {

void read_input_metadata(JsonReader metadata, Metadata& said) {
  must_be_of_path(metadata, "owner", said.owner);
  must_be_of_path(metadata, "name", said.name);
  said.labels = input_labels(metadata);
  std::optional<JsonReader> protection = metadata.optional("deletionProtection");
  said.deletion_protection = protection && protection->boolean();
  pass_over(metadata, {"uid", "generation", "revision", "deletionRequestedAt"});
  metadata.no_other_fields();
}

}  // namespace isthmus::infra::api
