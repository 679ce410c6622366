#include "isthmus/kube/api/decode_impl.h"

#include <fmt/format.h>

namespace isthmus::kube::decoding {

void Reader::mark_unreadable(std::string_view what) {
  if (unreadable()) return;
  for (const Step& step : path_) {
    if (step.name.empty()) {
      unreadable_ += fmt::format("[{}]", step.index);
    } else {
      if (!unreadable_.empty()) unreadable_ += '.';
      unreadable_ += step.name;
    }
  }
  if (!unreadable_.empty()) unreadable_ += ": ";
  unreadable_ += what;
}

bool Reader::sound(simdjson::error_code error) {
  if (!error) return true;
  break_off(fmt::format("not JSON: {}", simdjson::error_message(error)));
  return false;
}

bool Reader::is_null(ondemand::value& value) {
  bool null = false;
  // A word that only begins like null is left to whoever reads the value, as of the wrong type.
  return !value.is_null().get(null) && null;
}

bool Reader::is_wrong_type(simdjson::error_code error) {
  return error == simdjson::INCORRECT_TYPE || error == simdjson::NUMBER_ERROR ||
         error == simdjson::NUMBER_OUT_OF_RANGE;
}

void Reader::text(ondemand::value value, std::string& out) {
  out.clear();
  std::string_view view;
  if (!is_null(value) && take(value.get_string(), view, "a string")) out = view;
}

void Reader::texts(ondemand::value value, std::vector<std::string>& out) {
  out.clear();
  elements(value, [&](ondemand::value element) { text(element, out.emplace_back()); });
  out.shrink_to_fit();
}

void Reader::boolean(ondemand::value value, bool& out) {
  out = false;
  if (!is_null(value)) take(value.get_bool(), out, "true or false");
}

void Reader::time(ondemand::value value, std::optional<WallTime>& out) {
  out.reset();
  std::string_view view;
  if (is_null(value) || !take(value.get_string(), view, "a string")) return;
  out = parse_rfc3339(view);
  if (!out) mark_unreadable("not an RFC 3339 time");
}

}  // namespace isthmus::kube::decoding
