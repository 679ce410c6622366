// If-Match and If-None-Match, understood: what a writer expects to stand.
#pragma once

#include <optional>
#include <string_view>

#include "isthmus/infra/api/object.h"
#include "isthmus/infra/api/problem.h"
#include "isthmus/infra/store/store.h"

namespace isthmus::infra {

struct Preconditions {
  std::optional<Revision> revision = std::nullopt;  // If-Match: "42"
  bool exists = false;                              // If-Match: *
  bool absent = false;                              // If-None-Match: *
};

// A revision-conflict where what stands is not what was expected. `noun` says what it is
// ("machine"); `standing` is its revision, nothing where there is none.
std::optional<api::Problem> precondition_failure(const Preconditions& preconditions,
                                                 std::string_view noun,
                                                 std::optional<Revision> standing);

// deletion-protected where an object's owner has said that it must not be deleted.
std::optional<api::Problem> protection_failure(const api::Metadata& metadata);

}  // namespace isthmus::infra
