#include "isthmus/controllers/machine_claims.h"

namespace isthmus::controllers {

MachineClaims::MachineClaims(kube::Store<kube::Node>& nodes) {
  nodes.subscribe([this](const kube::Difference<kube::Node>& difference) { note(difference); });
}

std::optional<std::string> MachineClaims::holder(const std::string& provider_id,
                                                 const kube::ObjectKey& but) const {
  if (const auto held = held_.find(provider_id); held != held_.end()) {
    const kube::ObjectKey& first = held->second.begin()->second;
    if (first != but) return first.name;
  }
  const auto claimed = claimed_.find(provider_id);
  if (claimed != claimed_.end() && claimed->second != but) return claimed->second.name;
  return std::nullopt;
}

void MachineClaims::claim(const std::string& provider_id, const kube::ObjectKey& node) {
  ISTHMUS_ASSERT(!holder(provider_id, node), "a machine that another Node holds was claimed");
  release(node);
  claimed_.emplace(provider_id, node);
}

void MachineClaims::release(const kube::ObjectKey& node) {
  std::erase_if(claimed_, [&](const auto& claim) { return claim.second == node; });
}

void MachineClaims::note(const kube::Difference<kube::Node>& difference) {
  if (difference.before && !difference.before->provider_id.empty()) {
    const auto held = held_.find(difference.before->provider_id);
    held->second.erase({difference.before->meta.creation_time, difference.key});
    if (held->second.empty()) held_.erase(held);
  }
  const std::string after = difference.after ? difference.after->provider_id : "";
  if (!after.empty()) {
    held_[after].emplace(difference.after->meta.creation_time, difference.key);
  }
  if (!difference.after || !after.empty()) release(difference.key);
}

}  // namespace isthmus::controllers
