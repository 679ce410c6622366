// The allocator's eyes: how one load balancer stands to an address, what one walk over a pool finds
// for it, and how that reads in a refusal.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "isthmus/infra/address_claims.h"
#include "isthmus/infra/allocator.h"

namespace isthmus::infra {

// The address after this one. Behind the last of the family comes the first.
IpAddress next(const IpAddress& address);

// Whether the load balancer is among the holders.
bool holds(const AddressRecord& record, const ObjectName& name);

// What a load balancer may do with an address, as it stands.
enum class Standing : std::uint8_t {
  mine,            // It holds it, and may go on with the spec it has now.
  my_orphan,       // The kernel holds it for this name, and the store knows of no holder.
  cooling_for_me,  // It held it last.
  shareable,       // Others hold it and would share.
  untouched,       // There is no record of it.
  cooled_down,     // Nobody holds it, and that for long enough.
  cooling,         // Somebody else may have it back.
  ports_taken,     // It would be shared, but a protocol and port is served on it already.
  taken,           // Somebody else holds it.
  orphaned,        // The kernel holds it for another name.
};

// Whether an address with that standing may be given to the load balancer.
bool is_free_for_it(Standing standing);

// What one walk over the records of a pool found, for one family.
struct Finding {
  std::optional<IpAddress> mine_again;  // Cools down for the load balancer; the last it released.
  WallTime mine_again_until{};
  std::optional<IpAddress> shareable;       // The lowest.
  std::optional<IpAddress> untouched;       // The lowest.
  std::optional<IpAddress> longest_cooled;  // Free for longest.
  WallTime longest_cooled_since{};
  bool has_ranges = false;  // Of the family.
  std::uint64_t held = 0;
  std::uint64_t cooling = 0;
  std::uint64_t claimed = 0;         // By machines and targets.
  std::vector<std::string> holders;  // The first few, "prod/web".
  std::optional<WallTime> next_free;
};

// Everything it is given outlives it.
class AddressView {
 public:
  AddressView(const LedgerSnapshot& snapshot, const ObjectName& name,
              const api::LoadBalancerSpec& spec, const Circumstances& circumstances);

  const LedgerSnapshot& snapshot() const { return snapshot_; }
  const ObjectName& name() const { return name_; }
  const api::LoadBalancerSpec& spec() const { return spec_; }
  const Circumstances& circumstances() const { return circumstances_; }

  Standing standing(const IpAddress& address, const AddressRecord* record) const;

  // The pool that the address lies in; nullptr: none.
  const api::Pool* pool_of(const IpAddress& address) const;

  // The pools that are there and that the owner may use, by name.
  std::vector<const api::Pool*> pools_allowed() const;
  bool may_use(const api::Pool& pool) const;

  // What the load balancer holds, by its record, and then what the kernel holds for it as an
  // orphan.
  std::vector<IpAddress> present_addresses() const;

  // Why nobody can have the address on this host; nullptr: somebody can.
  const std::string* unusable(const IpAddress& address) const;

  // The machine or target that has the address: "is a target of prod/web".
  std::optional<std::string> claim_on(const IpAddress& address) const;

  Finding look_at(const api::Pool& pool, IpFamily family) const;

  // Who has the address, for how long, and what would help: for an address that is not free for it.
  std::string obstacle(const IpAddress& address, const AddressRecord* record,
                       Standing standing) const;

 private:
  using Port = std::pair<api::Protocol, std::uint16_t>;

  Standing standing_among(const AddressRecord& record, Standing otherwise) const;
  // A holder other than this one that serves a port of this one on the address.
  std::optional<std::pair<std::string, Port>> port_taken(const AddressRecord& record) const;
  std::optional<IpAddress> first_untouched(IpAddress from, const IpAddress& last,
                                           const AddressClaims& claims) const;
  void note(const AddressRecord& record, const AddressClaims& claims, Finding& finding) const;
  void walk(const IpPrefix& range, const AddressClaims& claims, Finding& finding) const;

  const LedgerSnapshot& snapshot_;
  const ObjectName& name_;
  const api::LoadBalancerSpec& spec_;
  const Circumstances& circumstances_;
  std::set<Port> ports_;
  std::map<IpAddress, std::set<ObjectName>> orphaned_;
};

}  // namespace isthmus::infra
