#include "isthmus/infra/preconditions.h"

#include <fmt/format.h>

namespace isthmus::infra {

std::optional<api::Problem> precondition_failure(const Preconditions& preconditions,
                                                 std::string_view noun,
                                                 std::optional<Revision> standing) {
  if (preconditions.absent && standing) {
    return api::make_problem(
        api::problem::revision_conflict,
        fmt::format("If-None-Match: the {} exists, at revision {}", noun, *standing));
  }
  if ((preconditions.exists || preconditions.revision) && !standing) {
    return api::make_problem(api::problem::revision_conflict,
                             fmt::format("If-Match: there is no such {}", noun));
  }
  if (preconditions.revision && preconditions.revision != standing) {
    return api::make_problem(api::problem::revision_conflict,
                             fmt::format("If-Match: the {} is at revision {}, not at {}", noun,
                                         *standing, *preconditions.revision));
  }
  return std::nullopt;
}

std::optional<api::Problem> protection_failure(const api::Metadata& metadata) {
  if (!metadata.deletion_protection) return std::nullopt;
  return api::make_problem(
      api::problem::deletion_protected,
      fmt::format("{}/{} is protected; put it with deletionProtection: false first", metadata.owner,
                  metadata.name));
}

}  // namespace isthmus::infra
