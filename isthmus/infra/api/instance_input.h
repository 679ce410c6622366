// The strict side of instance.h: what is written to us must be right in every part.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "isthmus/infra/api/instance.h"
#include "isthmus/infra/api/problem.h"

namespace isthmus::infra::api {

struct InstanceInput {
  Instance instance;                      // Meaningless with a mistake of either kind.
  std::optional<std::string> unreadable;  // Why the body is no JSON document at all.
  std::vector<FieldError> errors;         // In the order they were found.
};

// Reads the body of a PUT: each unknown or doubled member, wrong type, bad address, label or word
// is listed with its JSON pointer, all at once. Members the server owns (revision, generation,
// presence, lastConfirmedAt) may be there, as in what a GET answered, and say nothing. `uid` is the
// one in the path; a different one in the body is an error.
InstanceInput decode_instance_input(std::string_view json, std::string_view uid);

// Brings an address into the one form that compares (rules.h), or answers what is wrong with it.
std::optional<std::string> canonicalize(Address& address);

}  // namespace isthmus::infra::api
