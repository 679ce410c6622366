// Any bytes in place of what a client of the infrastructure API sends, and of what a server
// answers: nothing crashes, reads out of bounds or hangs; what is taken is taken again as it was,
// when it is said back; and every error names a place that is a JSON pointer.
//
// The first byte chooses what the rest is taken for.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "isthmus/infra/api/load_balancer_input.h"
#include "isthmus/infra/api/route_table_input.h"
#include "isthmus/infra/api/watch_event.h"

namespace isthmus::infra::api {
namespace {

template <class Object>
void check(const Input<Object>& input,
           Input<Object> (*decode)(std::string_view, std::string_view, std::string_view)) {
  for (const FieldError& error : input.errors) {
    ISTHMUS_ASSERT(error.pointer.empty() || error.pointer.starts_with('/'), "a pointer is one");
  }
  // What is not offered is left out of the object, which may then be less than a wish.
  if (input.unreadable || !input.errors.empty() || !input.not_offered.empty()) return;
  const Input<Object> again = decode(encode_input(input.object), "prod", "web");
  ISTHMUS_ASSERT(!again.unreadable && again.errors.empty(),
                 "what is taken is right when said back");
  ISTHMUS_ASSERT(again.object == input.object, "and means the same");
}

void decode(std::uint8_t kind, std::string_view text) {
  switch (static_cast<std::uint8_t>(kind - '0') % 5) {
    case 0:
      return check(decode_load_balancer_input(text, "prod", "web"), decode_load_balancer_input);
    case 1:
      return check(decode_target_set_input(text, "prod", "web"), decode_target_set_input);
    case 2:
      (void)decode_watch_event(text);
      return;
    case 4:
      return check(decode_route_table_input(text, "prod", "web"), decode_route_table_input);
    default:
      (void)decode_load_balancer_list(text);
  }
}

}  // namespace
}  // namespace isthmus::infra::api

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data + 1), size - 1);
  isthmus::infra::api::decode(data[0], text);
  return 0;
}
