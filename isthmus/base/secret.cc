#include "isthmus/base/secret.h"

#include <string.h>

#include <utility>

namespace isthmus {
namespace {

// Overwrites the whole buffer, not only the text: a string that became shorter leaves its tail
// behind. No compiler drops these writes to memory that is about to be freed.
void wipe(std::string& text) {
  text.resize(text.capacity());
  ::explicit_bzero(text.data(), text.size());
  text.clear();
}

}  // namespace

// Copied rather than moved: moving a short string would leave its bytes in the argument.
Secret::Secret(std::string text) : text_(text) { wipe(text); }

Secret::Secret(Secret&& other) noexcept : text_(std::move(other.text_)) { wipe(other.text_); }

Secret& Secret::operator=(const Secret& other) {
  if (this == &other) return *this;
  wipe(text_);
  text_ = other.text_;
  return *this;
}

Secret& Secret::operator=(Secret&& other) noexcept {
  if (this == &other) return *this;
  wipe(text_);
  text_.swap(other.text_);
  return *this;
}

Secret::~Secret() { wipe(text_); }

bool Secret::matches(std::string_view presented) const {
  if (presented.size() != text_.size()) return false;
  unsigned difference = 0;
  for (std::size_t i = 0; i < text_.size(); ++i) {
    difference |= static_cast<unsigned char>(text_[i]) ^ static_cast<unsigned char>(presented[i]);
  }
  return difference == 0;
}

}  // namespace isthmus
