#include "isthmus/base/json_keys.h"

#include <cstdint>
#include <set>
#include <utility>

#include <boost/json/basic_parser_impl.hpp>

namespace isthmus {
namespace {

namespace json = boost::json;

// Follows the parser through the document; Boost names the functions and what they take. None of
// them ever stops it.
class KeyWatcher {
 public:
  static constexpr std::size_t max_object_size = SIZE_MAX;
  static constexpr std::size_t max_array_size = SIZE_MAX;
  static constexpr std::size_t max_key_size = SIZE_MAX;
  static constexpr std::size_t max_string_size = SIZE_MAX;
  using Part = json::string_view;
  using Code = json::error_code;

  bool on_document_begin(Code&) { return true; }
  bool on_document_end(Code&) { return true; }
  bool on_object_begin(Code&) { return begin(false); }
  bool on_object_end(std::size_t, Code&) { return end(); }
  bool on_array_begin(Code&) { return begin(true); }
  bool on_array_end(std::size_t, Code&) { return end(); }
  bool on_key_part(Part part, std::size_t, Code&) {
    key_.append(part.data(), part.size());
    return true;
  }
  bool on_key(Part last, std::size_t, Code&) {
    key_.append(last.data(), last.size());
    Level& object = open_.back();
    object.key = std::exchange(key_, {});
    if (!object.keys.insert(object.key).second) doubled_.push_back(pointer());
    return true;
  }
  bool on_string_part(Part, std::size_t, Code&) { return true; }
  bool on_string(Part, std::size_t, Code&) { return value(); }
  bool on_number_part(Part, Code&) { return true; }
  bool on_int64(std::int64_t, Part, Code&) { return value(); }
  bool on_uint64(std::uint64_t, Part, Code&) { return value(); }
  bool on_double(double, Part, Code&) { return value(); }
  bool on_bool(bool, Code&) { return value(); }
  bool on_null(Code&) { return value(); }
  bool on_comment_part(Part, Code&) { return true; }
  bool on_comment(Part, Code&) { return true; }

  std::vector<std::string> take_doubled() { return std::move(doubled_); }

 private:
  struct Level {
    bool is_array = false;
    std::size_t index = 0;  // Of an array: of the element that is being read.
    std::string key;        // Of an object: of the member that is being read.
    std::set<std::string> keys;
  };

  bool begin(bool is_array) {
    open_.push_back({.is_array = is_array, .index = 0, .key = {}, .keys = {}});
    return true;
  }
  bool end() {
    open_.pop_back();
    return value();
  }
  bool value() {
    if (!open_.empty()) ++open_.back().index;
    return true;
  }
  std::string pointer() const {
    std::string text;
    for (const Level& level : open_) {
      text += '/';
      text += level.is_array ? std::to_string(level.index) : pointer_part(level.key);
    }
    return text;
  }

  std::vector<Level> open_;
  std::string key_;
  std::vector<std::string> doubled_;
};

}  // namespace

std::string pointer_part(std::string_view key) {
  std::string out;
  for (const char c : key) {
    if (c == '~') {
      out += "~0";
    } else if (c == '/') {
      out += "~1";
    } else {
      out += c;
    }
  }
  return out;
}

std::vector<std::string> doubled_keys(std::string_view text) {
  json::basic_parser<KeyWatcher> parser{json::parse_options{}};
  json::error_code error;
  parser.write_some(false, text.data(), text.size(), error);
  return parser.handler().take_doubled();
}

}  // namespace isthmus
