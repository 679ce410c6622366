// How an object is read with simdjson on demand; private to kube/api.
//
// Reading visits the fields of an object in the order of the text and hands each to a function that
// keeps or ignores it. Nothing stops at a field of the wrong type: the object is noted as
// unreadable and reading goes on, so that its name is found wherever it stands and its neighbours
// are intact.
#pragma once

#include <simdjson.h>

#include <concepts>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "isthmus/kube/api/decode.h"

namespace isthmus::kube::decoding {

namespace ondemand = simdjson::ondemand;

// Reads one text, and knows what was wrong with it. A resource, for the duration of one text.
class Reader {
 public:
  explicit Reader(const Projection& projection) : projection_(projection) {}
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  // Not JSON, or contradictory: nothing of the text counts. Every loop here ends at once then.
  bool broken() const { return !broken_.empty(); }
  const std::string& why_broken() const { return broken_; }
  void break_off(std::string why) {
    if (broken_.empty()) broken_ = std::move(why);
  }

  // The object that is being read is wrongly typed; the first such field.
  bool unreadable() const { return !unreadable_.empty(); }
  const std::string& why_unreadable() const { return unreadable_; }
  void mark_unreadable(std::string_view what);
  void begin_object() { unreadable_.clear(); }

  bool keeps_annotation(std::string_view key) const { return projection_.keeps_annotation(key); }

  // Calls read(key, value) for each field; not at all for null.
  template <class Read>
  void fields(ondemand::value value, Read&& read) {
    ondemand::object object;
    if (!is_null(value) && take(value.get_object(), object, "an object")) {
      fields(object, std::forward<Read>(read));
    }
  }
  template <class Read>
  void fields(ondemand::object& object, Read&& read) {
    for (auto each : object) {
      ondemand::field field;
      if (!sound(std::move(each).get(field))) return;
      std::string_view key;
      if (!sound(field.unescaped_key().get(key))) return;
      path_.push_back({key, 0});
      read(key, field.value());
      path_.pop_back();
      if (broken()) return;
    }
  }

  // Calls read(value) for each element; not at all for null.
  template <class Read>
  void elements(ondemand::value value, Read&& read) {
    ondemand::array array;
    if (is_null(value) || !take(value.get_array(), array, "an array")) return;
    std::size_t index = 0;
    for (auto each : array) {
      ondemand::value element;
      if (!sound(std::move(each).get(element))) return;
      path_.push_back({{}, index++});
      read(element);
      path_.pop_back();
      if (broken()) return;
    }
  }

  // One value each; null, and what is not of the type, leaves it empty.
  void text(ondemand::value value, std::string& out);
  void texts(ondemand::value value, std::vector<std::string>& out);
  void boolean(ondemand::value value, bool& out);
  void time(ondemand::value value, std::optional<WallTime>& out);
  template <std::integral Number>
  void number(ondemand::value value, Number& out) {
    out = 0;
    std::int64_t wide = 0;
    if (is_null(value) || !take(value.get_int64(), wide, "a whole number")) return;
    if (!std::in_range<Number>(wide)) return mark_unreadable("out of range");
    out = static_cast<Number>(wide);
  }

  // A map of texts; only those keys that `keep` answers true for.
  template <class Keep>
  void map(ondemand::value value, StringMap& out, Keep&& keep) {
    out = {};
    add_to_map(value, out, std::forward<Keep>(keep));
  }
  // Likewise, beside what is there.
  template <class Keep>
  void add_to_map(ondemand::value value, StringMap& out, Keep&& keep) {
    fields(value, [&](std::string_view key, ondemand::value each) {
      if (!keep(key)) return;
      std::string value_text;
      text(each, value_text);
      out.set(key, std::move(value_text));
    });
    out.shrink_to_fit();
  }

  // A list of structs: read(field name, its value, the struct).
  template <class T, class Read>
  void structs(ondemand::value value, std::vector<T>& out, Read&& read) {
    out.clear();
    elements(value, [&](ondemand::value element) {
      T item;
      fields(element, [&](std::string_view key, ondemand::value each) { read(key, each, item); });
      out.push_back(std::move(item));
    });
    out.shrink_to_fit();
  }

  // False, and broken, when simdjson says that the text is not JSON.
  bool sound(simdjson::error_code error);

 private:
  struct Step {
    std::string_view name;  // Empty: an element of an array.
    std::size_t index;
  };

  static bool is_null(ondemand::value& value);

  template <class T>
  bool take(simdjson::simdjson_result<T> result, T& out, std::string_view expected) {
    const simdjson::error_code error = std::move(result).get(out);
    if (!error) return true;
    if (!is_wrong_type(error)) return sound(error);
    mark_unreadable(std::string("not ").append(expected));
    return false;
  }
  static bool is_wrong_type(simdjson::error_code error);

  const Projection& projection_;
  std::string broken_;
  std::string unreadable_;
  std::vector<Step> path_;
};

// What of each type is kept. Fields apart from apiVersion and kind, which the caller looks at.
void read_meta(Reader& reader, ondemand::value value, ObjectMeta& meta);
void read_field(Reader& reader, std::string_view key, ondemand::value value, Node& node);
void read_field(Reader& reader, std::string_view key, ondemand::value value, NodeMetadata& node);
void read_field(Reader& reader, std::string_view key, ondemand::value value, Service& service);
void read_field(Reader& reader, std::string_view key, ondemand::value value, Lease& lease);
void read_field(Reader& reader, std::string_view key, ondemand::value value, Event& event);
void read_field(Reader& reader, std::string_view key, ondemand::value value, Namespace& name_space);
void read_field(Reader& reader, std::string_view key, ondemand::value value, ConfigMap& config);
void read_field(Reader& reader, std::string_view key, ondemand::value value, Status& status);

}  // namespace isthmus::kube::decoding
