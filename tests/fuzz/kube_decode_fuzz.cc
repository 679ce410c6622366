// Any bytes in place of what an API server sends: nothing crashes, reads out of bounds or hangs,
// and where the text really is JSON, no object of a list is hidden.
//
// The first byte chooses what the rest is taken for.
#include <cstddef>
#include <cstdint>
#include <string>

#include "isthmus/base/json.h"
#include "isthmus/kube/api/decode.h"
#include "isthmus/kube/api/patch.h"

namespace isthmus::kube {
namespace {

void check_no_item_is_hidden(const std::string& text, const ListPage<Node>& page) {
  const Result<json::value> document = parse_json(text);
  if (!document || !document->is_object()) return;
  const json::value* items = document->as_object().if_contains("items");
  if (items == nullptr || !items->is_array()) return;
  ISTHMUS_ASSERT(items->as_array().size() == page.items.size(), "a page hides an object");
}

// What was read can be written back: the builders meet every text that a Node can hold.
void patch_it(const Node& node) {
  const std::optional<Patch> patch =
      node_patch(node, {.labels = {{"a", "b"}},
                        .provider_id = "x://1",
                        .removed_taints = {"node.cloudprovider.kubernetes.io/uninitialized"}});
  ISTHMUS_ASSERT(!patch || parse_json(patch->body).has_value(), "a patch is JSON");
}

void decode(std::uint8_t kind, std::string& text) {
  Decoder decoder;
  switch (kind % 6) {
    case 0:
      if (const auto page = decoder.page<Node>(text)) check_no_item_is_hidden(text, *page);
      return;
    case 1:
      (void)decoder.watch_line<Node>(text);
      return;
    case 2:
      if (const auto node = decoder.object<Node>(text)) patch_it(*node);
      return;
    case 3:
      (void)decoder.object<Service>(text);
      return;
    case 4:
      (void)decoder.watch_line<Lease>(text);
      return;
    default:
      (void)decoder.status(text);
  }
}

}  // namespace
}  // namespace isthmus::kube

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  std::string text(reinterpret_cast<const char*>(data + 1), size - 1);
  isthmus::kube::decode(data[0], text);
  return 0;
}
