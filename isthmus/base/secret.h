// Secret: a token, password or key that cannot reach a log, a message or a metric by accident.
//
// It has no conversion, no formatter and no stream operator, so every use says reveal(), and a
// reviewer finds all of them with one search.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>

namespace isthmus {

// A value: each copy holds the text of its own and wipes it when it goes. What the caller did with
// the text before, and the memory of whoever read it from a file, is the caller's concern.
class Secret {
 public:
  Secret() = default;
  explicit Secret(std::string text);
  Secret(const Secret& other) = default;
  Secret(Secret&& other) noexcept;
  Secret& operator=(const Secret& other);
  Secret& operator=(Secret&& other) noexcept;
  ~Secret();

  // The text itself, valid as long as this object. Only for where it must leave the process (an
  // Authorization header, a TLS key), never for a message.
  const std::string& reveal() const { return text_; }

  bool empty() const { return text_.empty(); }

  // Takes the same time wherever the texts differ, so an attacker cannot guess byte by byte; only
  // the length shows.
  bool matches(std::string_view presented) const;

  friend bool operator==(const Secret& left, const Secret& right) {
    return left.matches(right.text_);
  }
  friend std::ostream& operator<<(std::ostream&, const Secret&) = delete;

 private:
  std::string text_;
};

}  // namespace isthmus
