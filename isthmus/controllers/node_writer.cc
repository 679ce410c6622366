#include "isthmus/controllers/node_writer.h"

#include <optional>
#include <utility>

#include "isthmus/kube/checked_patch.h"

namespace isthmus::controllers {

Task<Result<NodeWriter::Patched>> NodeWriter::change(NodePtr node, kube::NodeChange change) {
  std::optional<kube::Patch> patch = kube::node_patch(*node, change);
  if (!patch) co_return Patched{true, node};
  Result<std::string> answer = co_await send(node, "", *std::move(patch));
  if (answer.outcome() == Outcome::absent) co_return Patched{false, nullptr};
  if (answer.outcome() == Outcome::conflict) {
    NodePtr live = CO_TRY(co_await read_live(node));
    co_return Patched{false, std::move(live)};
  }
  if (!answer) co_return std::unexpected(std::move(answer.error()));
  NodePtr patched = CO_TRY(answered(*node, *answer, kube::changed(*node, change)));
  co_return Patched{true, std::move(patched)};
}

Task<Result<std::string>> NodeWriter::send(NodePtr node, std::string subresource,
                                           kube::Patch patch) {
  kube::PatchRequest request{.object = kube::name_of(*node),
                             .subresource = std::move(subresource),
                             .patch = std::move(patch),
                             .metadata_only = true};
  Result<std::string> answer = co_await kube::checked_patch(api_, std::move(request));
  co_return answer;
}

Result<NodeWriter::NodePtr> NodeWriter::answered(const kube::Node& node, std::string& answer,
                                                 kube::Node after) {
  auto metadata = TRY(decoder_.object<kube::NodeMetadata>(answer, node.meta.key));
  if (metadata.meta.uid != node.meta.uid) return fail(Outcome::lost, "another Node answered");
  after.meta = std::move(metadata.meta);
  auto patched = std::make_shared<const kube::Node>(std::move(after));
  newest_.learn(node, patched);
  return patched;
}

Task<Result<NodeWriter::NodePtr>> NodeWriter::read_live(NodePtr node) {
  Result<std::string> answer = co_await api_.get(kube::name_of(*node));
  if (answer.outcome() == Outcome::absent) co_return nullptr;
  if (!answer) co_return std::unexpected(std::move(answer.error()));
  kube::Node live = CO_TRY(decoder_.object<kube::Node>(*answer, node->meta.key));
  auto read = std::make_shared<const kube::Node>(std::move(live));
  newest_.learn(*node, read);
  co_return read;
}

Task<Result<>> NodeWriter::remove(NodePtr node) {
  Result<> removed = co_await api_.remove({kube::name_of(*node), kube::unchanged(node->meta)});
  if (removed.outcome() == Outcome::absent) co_return Result<>{};
  co_return removed;
}

}  // namespace isthmus::controllers
