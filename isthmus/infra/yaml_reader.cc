#include "isthmus/infra/yaml_reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <sstream>
#include <utility>

#include "isthmus/base/duration.h"
#include "isthmus/base/text.h"

namespace isthmus::infra {
namespace {

constexpr std::size_t kFoundBytesMax = 80;  // Of a value in a message.

// Builds our nodes while yaml-cpp reads, because its own tree forgets about doubled keys.
class TreeBuilder final : public YAML::EventHandler {
 public:
  explicit TreeBuilder(YamlMistakes& mistakes) : mistakes_(mistakes) {}

  YamlNode take() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override {
    add(node_at(mark, YamlNode::Kind::null));
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    mistakes_.add(line_of(mark), "aliases (*name) are not read: write the value out");
    add(node_at(mark, YamlNode::Kind::refused));
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                const std::string& value) override {
    bool is_text = tag == "!" || tag == "tag:yaml.org,2002:str";
    if (!is_text) check_tag(mark, tag);
    YamlNode node = node_at(mark, YamlNode::Kind::scalar);
    node.scalar = value;
    node.quoted = is_text;
    add(std::move(node));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {
    check_tag(mark, tag);
    open_.push_back({node_at(mark, YamlNode::Kind::list), std::nullopt});
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {
    check_tag(mark, tag);
    open_.push_back({node_at(mark, YamlNode::Kind::map), std::nullopt});
  }
  void OnMapEnd() override { close(); }

 private:
  struct Open {
    YamlNode node;
    std::optional<YamlNode> key;  // Of a map: read, and waiting for its value.
  };

  static int line_of(const YAML::Mark& mark) { return mark.line + 1; }
  static YamlNode node_at(const YAML::Mark& mark, YamlNode::Kind kind) {
    YamlNode node;
    node.kind = kind;
    node.line = line_of(mark);
    return node;
  }

  void check_tag(const YAML::Mark& mark, const std::string& tag) {
    if (tag.empty() || tag == "?" || tag == "!") return;
    mistakes_.add(line_of(mark), fmt::format("tags ({}) are not read", quoted(tag)));
  }

  void close() {
    YamlNode node = std::move(open_.back().node);
    open_.pop_back();
    add(std::move(node));
  }

  void add(YamlNode node) {
    if (open_.empty()) {
      root_ = std::move(node);
      return;
    }
    Open& outer = open_.back();
    if (outer.node.kind == YamlNode::Kind::list) {
      outer.node.items.push_back(std::move(node));
    } else if (!outer.key) {
      outer.key = std::move(node);
    } else {
      add_member(outer.node, std::move(*std::exchange(outer.key, std::nullopt)), std::move(node));
    }
  }

  void add_member(YamlNode& map, YamlNode key, YamlNode value) {
    if (key.kind != YamlNode::Kind::scalar) {
      mistakes_.add(key.line, "expected a text as key");
      return;
    }
    auto same = std::ranges::find(map.members, key.scalar, &YamlNode::Member::key);
    if (same != map.members.end()) {
      mistakes_.add(key.line, fmt::format("{} is given twice in one place, first in line {}",
                                          quoted(key.scalar), same->line));
      return;
    }
    map.members.push_back({std::move(key.scalar), key.line, std::move(value)});
  }

  YamlMistakes& mistakes_;
  std::vector<Open> open_;
  YamlNode root_;
};

bool is_number(std::string_view text) {
  if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
  if (text.starts_with("0x") || text.starts_with("0o")) return true;
  if (text == ".inf" || text == ".nan") return true;
  double number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  bool digit =
      !text.empty() && (text.front() == '.' || (text.front() >= '0' && text.front() <= '9'));
  return digit && end == text.data() + text.size() && error != std::errc::invalid_argument;
}

// What YAML 1.1 or 1.2 readers may take a plain scalar for; nothing where all agree on a text.
std::optional<std::string_view> other_type(std::string_view text) {
  static constexpr std::array<std::string_view, 10> kTruth = {
      "true", "false", "True", "False", "TRUE", "FALSE", "yes", "no", "on", "off"};
  if (std::ranges::find(kTruth, text) != kTruth.end()) return "a truth value";
  if (is_number(text)) return "a number";
  return std::nullopt;
}

std::string found(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::null:
    case YamlNode::Kind::refused:
      return "nothing";
    case YamlNode::Kind::scalar:
      return quoted(shortened(node.scalar, kFoundBytesMax));
    case YamlNode::Kind::list:
      return "a list";
    case YamlNode::Kind::map:
      return "a map";
  }
  return {};
}

// How many characters to add, take away, replace or swap with the next to make one of the other.
std::size_t typing_distance(std::string_view left, std::string_view right) {
  std::vector<std::vector<std::size_t>> rows(left.size() + 1,
                                             std::vector<std::size_t>(right.size() + 1));
  for (std::size_t i = 0; i <= left.size(); ++i) {
    for (std::size_t j = 0; j <= right.size(); ++j) {
      if (i == 0 || j == 0) {
        rows[i][j] = i + j;
        continue;
      }
      std::size_t replaced = rows[i - 1][j - 1] + (left[i - 1] == right[j - 1] ? 0 : 1);
      rows[i][j] = std::min({rows[i - 1][j] + 1, rows[i][j - 1] + 1, replaced});
      bool swapped = i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1];
      if (swapped) rows[i][j] = std::min(rows[i][j], rows[i - 2][j - 2] + 1);
    }
  }
  return rows[left.size()][right.size()];
}

std::string suggestion(std::string_view wrong, const std::vector<std::string>& known) {
  constexpr std::size_t kKeyBytesMax = 40;  // Nobody mistypes more than that.
  std::size_t closest = 3;
  std::string_view best;
  for (const std::string& key : known) {
    if (wrong.size() > kKeyBytesMax) break;
    std::size_t distance = typing_distance(wrong, key);
    if (distance < closest && distance < key.size()) {
      closest = distance;
      best = key;
    }
  }
  return best.empty() ? "" : fmt::format("; did you mean {}?", best);
}

}  // namespace

void YamlMistakes::add_to(Mistakes& mistakes, std::string_view file) const {
  for (const auto& [line, what] : by_line_) {
    std::string place = fmt::format("line {}", line);
    mistakes.add(file.empty() ? place : fmt::format("{}: {}", file, place), what);
  }
}

Mistakes YamlMistakes::sorted(std::string_view file) const {
  Mistakes mistakes;
  add_to(mistakes, file);
  return mistakes;
}

std::optional<YamlNode> parse_yaml(std::string_view text, YamlMistakes& mistakes) {
  std::istringstream input{std::string(text)};
  TreeBuilder builder(mistakes);
  try {
    YAML::Parser parser(input);
    parser.HandleNextDocument(builder);
    TreeBuilder second(mistakes);
    if (parser.HandleNextDocument(second)) {
      mistakes.add(second.take().line, "a second document: a file holds one");
    }
  } catch (const YAML::Exception& error) {
    int line = error.mark.is_null() ? 1 : error.mark.line + 1;
    mistakes.add(line, fmt::format("not YAML: {}", error.msg));
    return std::nullopt;
  }
  return builder.take();
}

YamlReader::YamlReader(const YamlNode& document, YamlMistakes& mistakes)
    : YamlReader(&document, document.line, "", mistakes) {}

YamlReader::YamlReader(const YamlNode* node, int line, std::string path, YamlMistakes& mistakes)
    : node_(node != nullptr && node->kind == YamlNode::Kind::refused ? nullptr : node),
      line_(line),
      path_(std::move(path)),
      mistakes_(&mistakes),
      asked_(std::make_shared<const std::vector<std::string>>()) {}

bool YamlReader::is_map() {
  if (missing()) return false;
  if (node_->kind == YamlNode::Kind::map) return true;
  refuse("expected a map (key: value)");
  node_ = nullptr;  // Said once.
  return false;
}

std::optional<YamlReader> YamlReader::optional(std::string_view key) {
  if (!is_map()) return std::nullopt;
  std::vector<std::string> asked = *asked_;
  asked.emplace_back(key);
  asked_ = std::make_shared<const std::vector<std::string>>(std::move(asked));
  auto member = std::ranges::find(node_->members, key, &YamlNode::Member::key);
  if (member == node_->members.end()) return std::nullopt;
  std::string path = path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key);
  return YamlReader(&member->value, member->line, std::move(path), *mistakes_);
}

YamlReader YamlReader::required(std::string_view key, std::string_view why) {
  std::optional<YamlReader> member = optional(key);
  if (member && (member->missing() || member->node_->kind != YamlNode::Kind::null)) return *member;
  std::string path = path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key);
  if (!missing()) {
    mistakes_->add(member ? member->line_ : line_,
                   fmt::format("{} is required{}{}", path, why.empty() ? "" : ": ", why));
  }
  return YamlReader(nullptr, line_, std::move(path), *mistakes_);
}

void YamlReader::no_other_keys() {
  if (missing() || node_->kind != YamlNode::Kind::map) return;
  for (const YamlNode::Member& member : node_->members) {
    if (std::ranges::find(*asked_, member.key) != asked_->end()) continue;
    mistakes_->add(member.line,
                   fmt::format("{}{}unknown key {}{}", path_, path_.empty() ? "" : ": ",
                               quoted(shortened(member.key, kFoundBytesMax)),
                               suggestion(member.key, *asked_)));
  }
}

std::vector<YamlReader> YamlReader::elements(std::size_t count_max) {
  std::vector<YamlReader> elements;
  if (missing()) return elements;
  if (node_->kind != YamlNode::Kind::list) {
    refuse("expected a list");
    return elements;
  }
  if (node_->items.size() > count_max) {
    refuse_plainly(
        fmt::format("has {} elements; at most {} are allowed", node_->items.size(), count_max));
    return elements;
  }
  for (std::size_t i = 0; i < node_->items.size(); ++i) {
    const YamlNode& item = node_->items[i];
    elements.push_back(YamlReader(&item, item.line, fmt::format("{}[{}]", path_, i), *mistakes_));
  }
  return elements;
}

std::vector<YamlReader::Entry> YamlReader::members(std::size_t count_max) {
  std::vector<Entry> entries;
  if (!is_map()) return entries;
  if (node_->members.size() > count_max) {
    refuse_plainly(
        fmt::format("has {} keys; at most {} are allowed", node_->members.size(), count_max));
    return entries;
  }
  for (const YamlNode::Member& member : node_->members) {
    entries.push_back({member.key, member.line,
                       YamlReader(&member.value, member.line,
                                  fmt::format("{}.{}", path_, member.key), *mistakes_)});
  }
  return entries;
}

// The text of a scalar that every reader of YAML takes for a text.
const std::string* YamlReader::plain_text(std::string_view expected) {
  if (missing()) return nullptr;
  if (node_->kind != YamlNode::Kind::scalar) {
    refuse(expected);
    return nullptr;
  }
  if (node_->scalar.find('\0') != std::string::npos) {
    refuse("must not hold a NUL character");
    return nullptr;
  }
  std::optional<std::string_view> other = node_->quoted ? std::nullopt : other_type(node_->scalar);
  if (other) {
    refuse_plainly(fmt::format("{}, found {}: write it in quotes, \"{}\"", expected, *other,
                               shortened(node_->scalar, kFoundBytesMax)));
    return nullptr;
  }
  return &node_->scalar;
}

std::string YamlReader::text_or_empty() {
  const std::string* text = plain_text("expected a text");
  return text != nullptr ? *text : "";
}

std::string YamlReader::text() {
  const std::string* text = plain_text("expected a text");
  if (text != nullptr && text->empty()) refuse_plainly("must not be empty");
  return text != nullptr ? *text : "";
}

std::string YamlReader::choice(std::initializer_list<std::string_view> words) {
  std::string expected = fmt::format("expected one of {}", fmt::join(words, ", "));
  if (missing()) return "";
  bool known = node_->kind == YamlNode::Kind::scalar &&
               std::ranges::find(words, node_->scalar) != words.end();
  if (known) return node_->scalar;
  refuse(expected);
  return "";
}

bool YamlReader::boolean() {
  if (missing()) return false;
  bool plain = node_->kind == YamlNode::Kind::scalar && !node_->quoted;
  if (plain && node_->scalar == "true") return true;
  if (!plain || node_->scalar != "false") refuse("expected true or false");
  return false;
}

Duration YamlReader::duration() {
  if (missing()) return {};
  if (node_->kind == YamlNode::Kind::scalar) {
    Result<Duration> parsed = parse_duration(node_->scalar);
    if (parsed && parsed->count() >= 0) return *parsed;
  }
  refuse("expected a duration such as 5m or 1h30m");
  return {};
}

void YamlReader::refuse(std::string_view what) {
  if (missing()) return;
  refuse_plainly(fmt::format("{}, found {}", what, found(*node_)));
}

void YamlReader::refuse_plainly(std::string_view what) {
  mistakes_->add(line_, path_.empty() ? std::string(what) : fmt::format("{}: {}", path_, what));
}

}  // namespace isthmus::infra
