// The reference page of all Events that the manager posts.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace isthmus::app {

struct EventLine {
  std::string_view about;  // The kind of the object: "Node".
  std::string_view reason;
  bool is_warning;
  std::string_view meaning;  // And what to do about it, if anything.
};

// By object, in the order in which an object may meet them. Of what a cloud says of a load balancer
// in words of its own, those of our backend are there.
std::span<const EventLine> event_lines();

// The page, Markdown.
std::string event_reference();

}  // namespace isthmus::app
