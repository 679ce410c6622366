// How a body of an owner's object is read strictly: what stands around its spec, which is the same
// for all kinds. For the sources of this folder; the kinds are load_balancer_input.h and
// route_table_input.h.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "isthmus/infra/api/input_json.h"
#include "isthmus/infra/api/object.h"
#include "isthmus/infra/api/problem.h"

namespace isthmus::infra::api {

template <class Object>
struct Input {
  Object object;                          // Meaningless with a mistake of either kind.
  std::optional<std::string> unreadable;  // Why the body is no JSON document at all.
  std::vector<FieldError> errors;         // In the order they were found, with JSON pointers.
  // Asked for rightly, and nothing of ours does it: where, and its name (SCTP). It is left out of
  // the object.
  std::vector<FieldError> not_offered;
};

// The metadata of a body; `said` knows the owner and the name of the path.
void read_input_metadata(JsonReader metadata, Metadata& said);

// Everything around the spec, which `read` reads.
template <class Object, class Read>
Input<Object> decode_input(std::string_view kind, std::string_view text, std::string_view owner,
                           std::string_view name, const Read& read) {
  Input<Object> input;
  input.object.metadata.owner = owner;
  input.object.metadata.name = name;
  BodyErrors found = read_body(text, [&](JsonReader body) {
    if (auto said = body.optional("kind")) said->choice({kind});
    if (auto metadata = body.optional("metadata")) {
      read_input_metadata(*metadata, input.object.metadata);
    }
    read(body.required("spec"), input);
    pass_over(body, {"status"});
    body.no_other_fields();
  });
  input.unreadable = std::move(found.unreadable);
  input.errors = std::move(found.errors);
  return input;
}

}  // namespace isthmus::infra::api
