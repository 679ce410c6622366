// YAML files of ours, read so that every mistake is found at once and named by line and key.
//
//   YamlMistakes mistakes;
//   YamlNode document = parse_yaml(text, mistakes);
//   YamlReader file(document, mistakes);
//   for (YamlReader line : file.required("instances").elements(1000)) {
//     machine.name = line.required("name").text();
//     line.no_other_keys();
//   }
//   // line 7: instances[2].name: is missing
//
// We read the plain part of YAML (JSON is part of it): maps with text keys, lists, scalars.
// Aliases, tags and second documents are mistakes, and so is a key that is given twice. A plain
// scalar that YAML takes for a number, a truth value or null is not a text: `rack: 7` is a mistake
// that says how to write it, because another program would read it differently.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "isthmus/base/clock.h"
#include "isthmus/base/mistakes.h"
#include "isthmus/base/result.h"

namespace isthmus::infra {

// What is wrong with a file, in the order of its lines however it was found.
class YamlMistakes {
 public:
  void add(int line, std::string what) { by_line_.emplace(line, std::move(what)); }
  bool empty() const { return by_line_.empty(); }
  std::size_t count() const { return by_line_.size(); }

  // As "line 3: …"; "FILE: line 3: …" where a file is named.
  void add_to(Mistakes& mistakes, std::string_view file = {}) const;
  Mistakes sorted(std::string_view file = {}) const;

 private:
  std::multimap<int, std::string> by_line_;
};

// A value of the file and where it begins; lines count from 1.
struct YamlNode {
  struct Member;
  // Refused: a mistake was added for it, so it reads as missing and says nothing more.
  enum class Kind { null, scalar, list, map, refused };

  Kind kind = Kind::null;
  int line = 1;
  std::string scalar;
  bool quoted = false;  // Of a scalar: it was written in quotes, so it is a text.
  std::vector<YamlNode> items;
  std::vector<Member> members;  // In the order of the file, each key once.
};

struct YamlNode::Member {
  std::string key;
  int line = 1;
  YamlNode value;
};

// nullopt, after a mistake was added, for what is not YAML. What is beyond the plain part of it is
// a mistake as well, but the rest can be read, so that it tells its own: of a doubled key the first
// value, of a tagged value what stands behind the tag. An empty file is null without a mistake.
std::optional<YamlNode> parse_yaml(std::string_view text, YamlMistakes& mistakes);

// Reads one value. What is wrong goes to the mistakes and an empty value is answered in its place,
// so that reading goes on. A reader of a missing value answers empty without complaining again.
// Copies are cheap; the node and the mistakes outlive all readers.
class YamlReader {
 public:
  YamlReader(const YamlNode& document, YamlMistakes& mistakes);

  // A member of a map. A missing one, or null, is a mistake; `why` is added to it.
  YamlReader required(std::string_view key, std::string_view why = {});

  // nullopt when it is missing.
  std::optional<YamlReader> optional(std::string_view key);

  // Every key that was not asked for is a mistake; a similar one that exists is suggested.
  void no_other_keys();

  std::vector<YamlReader> elements(std::size_t count_max);

  struct Entry;
  std::vector<Entry> members(std::size_t count_max);

  std::string text();  // Not empty. No text holds a NUL character, where C would end a path.
  std::string text_or_empty();
  std::string choice(std::initializer_list<std::string_view> words);
  bool boolean();
  Duration duration();  // As Go writes them, not negative.

  // "where: what, found <the value>" for what only the caller can know.
  void refuse(std::string_view what);
  // The same without the value, as for one that stands in conflict with another line.
  void refuse_plainly(std::string_view what);

  bool missing() const { return node_ == nullptr; }
  int line() const { return line_; }
  const std::string& path() const { return path_; }

 private:
  YamlReader(const YamlNode* node, int line, std::string path, YamlMistakes& mistakes);
  bool is_map();
  const std::string* plain_text(std::string_view expected);

  const YamlNode* node_;
  int line_;
  std::string path_;  // "owners[0].name"; empty for the document.
  YamlMistakes* mistakes_;
  std::shared_ptr<const std::vector<std::string>> asked_;
};

struct YamlReader::Entry {
  std::string key;
  int line;
  YamlReader value;
};

}  // namespace isthmus::infra
