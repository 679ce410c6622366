#include "isthmus/infra/address_claims.h"

#include <fmt/format.h>

#include <cstring>
#include <string_view>
#include <utility>

namespace isthmus::infra {
namespace {

class Collector {
 public:
  Collector(const IpAddress& first, const IpAddress& last) : first_(first), last_(last) {}

  // Compares bytes, because almost all of very many may lie elsewhere.
  bool wants(const IpAddress& address) const {
    return address.family == first_.family &&
           std::memcmp(address.bytes.data(), first_.bytes.data(), address.bytes.size()) >= 0 &&
           std::memcmp(address.bytes.data(), last_.bytes.data(), address.bytes.size()) <= 0;
  }
  // Whether any between these, in the order of addresses, can be wanted.
  bool wants_any(const TargetSpan& span) const {
    return !span.ends || (first_ <= span.ends->second && span.ends->first <= last_);
  }
  void add(const IpAddress& address, std::string_view how, const std::string& whose) {
    auto [claim, is_new] = claims_.try_emplace(address);
    if (is_new) claim->second = fmt::format("{} {}", how, whose);
  }
  AddressClaims take() { return std::move(claims_); }

 private:
  const IpAddress& first_;
  const IpAddress& last_;
  AddressClaims claims_;
};

void add_machines(const InstanceSnapshot& machines, Collector& found) {
  using Type = api::AddressType;
  for (const auto& [uid, record] : machines.records) {
    if (record->is_retired()) continue;
    for (const api::Address& said : record->instance.addresses) {
      if (said.type != Type::internal_ip && said.type != Type::external_ip) continue;
      Result<IpAddress> address = parse_ip(said.address);
      if (!address || !found.wants(*address)) continue;
      found.add(*address, "is the address of machine", record->instance.name);
    }
  }
}

void add_targets(const LedgerSnapshot& snapshot, Collector& found) {
  for (const auto& [name, record] : snapshot.balancers) {
    if (record->is_tombstone() || !found.wants_any(record->target_span)) continue;
    for (const api::TargetGroup& group : record->spec.target_groups) {
      for (const api::Target& target : group.targets) {
        if (!found.wants(target.address)) continue;
        found.add(target.address, "is a target of", to_string(name));
      }
    }
  }
}

void add_sets(const LedgerSnapshot& snapshot, Collector& found) {
  for (const auto& [name, record] : snapshot.target_sets) {
    if (record->deleted_at) continue;
    for (const api::SetTarget& target : record->set.targets) {
      for (const IpAddress& address : target.addresses) {
        if (found.wants(address)) found.add(address, "is in target set", to_string(name));
      }
    }
  }
}

}  // namespace

AddressClaims claims_between(const IpAddress& first, const IpAddress& last,
                             const LedgerSnapshot& snapshot, const InstanceSnapshot* machines) {
  Collector found(first, last);
  if (machines != nullptr) add_machines(*machines, found);
  add_targets(snapshot, found);
  add_sets(snapshot, found);
  return found.take();
}

}  // namespace isthmus::infra
