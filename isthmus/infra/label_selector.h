// Kubernetes' label selectors: "rack=7,disk!=hdd,gpu,!old,zone in (a,b),tier notin (x)".
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "isthmus/base/result.h"

namespace isthmus::infra {

class LabelSelector {
 public:
  static constexpr std::size_t kBytesMax = 4096;

  // The empty text selects everything. invalid says which requirement is wrong, and how.
  static Result<LabelSelector> parse(std::string_view text);

  // Every requirement holds. As in Kubernetes, != and notin also hold where the key is missing.
  bool matches(const std::map<std::string, std::string>& labels) const;

 private:
  enum class Operator : std::uint8_t { in, not_in, exists, not_exists };
  struct Requirement {
    std::string key;
    Operator op = Operator::exists;
    std::vector<std::string> values;
  };
  static Result<Requirement> parse_requirement(std::string_view text);

  std::vector<Requirement> requirements_;
};

}  // namespace isthmus::infra
