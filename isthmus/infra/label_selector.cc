#include "isthmus/infra/label_selector.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "isthmus/base/text.h"
#include "isthmus/infra/api/rules.h"

namespace isthmus::infra {
namespace {

// The parts between commas that are not in parentheses.
std::vector<std::string_view> split_requirements(std::string_view text) {
  std::vector<std::string_view> parts;
  std::size_t start = 0;
  bool inside = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '(') inside = true;
    if (text[i] == ')') inside = false;
    if (text[i] != ',' || inside) continue;
    parts.push_back(trimmed(text.substr(start, i - start)));
    start = i + 1;
  }
  parts.push_back(trimmed(text.substr(start)));
  return parts;
}

// "key in (a,b)" and "key notin (a,b)" as key, word and what is in the parentheses.
struct SetForm {
  std::string_view key;
  std::string_view word;
  std::string_view values;
};

std::optional<SetForm> set_form(std::string_view text) {
  std::size_t open = text.find('(');
  if (open == std::string_view::npos || text.back() != ')') return std::nullopt;
  std::string_view head = trimmed(text.substr(0, open));
  std::size_t space = head.find_first_of(" \t");
  if (space == std::string_view::npos) return std::nullopt;
  return SetForm{head.substr(0, space), trimmed(head.substr(space)),
                 text.substr(open + 1, text.size() - open - 2)};
}

}  // namespace

Result<LabelSelector::Requirement> LabelSelector::parse_requirement(std::string_view text) {
  auto refuse = [text](std::string_view why) {
    return fail(Outcome::invalid, fmt::format("{}: {}", quoted(text), why));
  };
  Requirement requirement;
  std::vector<std::string_view> values;
  if (text.empty()) return refuse("expected a requirement between the commas");
  if (auto set = set_form(text)) {
    requirement.key = set->key;
    if (set->word != "in" && set->word != "notin") return refuse("expected in or notin");
    requirement.op = set->word == "in" ? Operator::in : Operator::not_in;
    values = split(set->values, ',');
  } else if (std::size_t equals = text.find('='); equals != std::string_view::npos) {
    bool negated = equals > 0 && text[equals - 1] == '!';
    bool doubled = text.substr(equals + 1).starts_with('=');
    requirement.op = negated ? Operator::not_in : Operator::in;
    requirement.key = trimmed(text.substr(0, negated ? equals - 1 : equals));
    values = {text.substr(equals + (doubled && !negated ? 2 : 1))};
  } else if (text.starts_with('!')) {
    requirement.op = Operator::not_exists;
    requirement.key = trimmed(text.substr(1));
  } else {
    requirement.key = text;
  }
  if (auto wrong = api::wrong_label_key(requirement.key)) return refuse(*wrong);
  for (std::string_view value : values) {
    if (auto wrong = api::wrong_label_value(trimmed(value))) return refuse(*wrong);
    requirement.values.emplace_back(trimmed(value));
  }
  return requirement;
}

Result<LabelSelector> LabelSelector::parse(std::string_view text) {
  LabelSelector selector;
  if (text.size() > kBytesMax) {
    return fail(Outcome::invalid, fmt::format("longer than {} bytes", kBytesMax));
  }
  if (trimmed(text).empty()) return selector;
  for (std::string_view part : split_requirements(text)) {
    selector.requirements_.push_back(TRY(parse_requirement(part)));
  }
  return selector;
}

bool LabelSelector::matches(const std::map<std::string, std::string>& labels) const {
  return std::ranges::all_of(requirements_, [&labels](const Requirement& requirement) {
    auto label = labels.find(requirement.key);
    bool there = label != labels.end();
    bool listed =
        there && std::ranges::find(requirement.values, label->second) != requirement.values.end();
    switch (requirement.op) {
      case Operator::in:
        return listed;
      case Operator::not_in:
        return !listed;
      case Operator::exists:
        return there;
      case Operator::not_exists:
        return !there;
    }
    return false;
  });
}

}  // namespace isthmus::infra
