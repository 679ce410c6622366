// The keys of a JSON document as they were written: a parsed document has each of them once, with
// its last value, and no longer shows that somebody said two things.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace isthmus {

// A key as a part of a JSON pointer (RFC 6901): ~ and / are written ~0 and ~1.
std::string pointer_part(std::string_view key);

// The JSON pointers of keys that their object has before, in the order of the text. The text is one
// that parse_json takes; of any other, those up to where it breaks.
std::vector<std::string> doubled_keys(std::string_view text);

}  // namespace isthmus
