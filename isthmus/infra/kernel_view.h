// What the kernel of this host holds, by load balancer: the driver's view, with an index over the
// notes that the kernel keeps with every listener.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "isthmus/infra/drivers/plan.h"
#include "isthmus/infra/ledger_records.h"

namespace isthmus::infra {

// Whose a listener is and of which generation: "prod/web 7". It outlives this program in the
// kernel, so every form that was ever written stays readable; what a later one may add behind a
// further space is passed over.
struct KernelNote {
  // Higher than any that was ever counted to, and far below what a record can hold. A note that
  // says more was written by other hands, and is read as this: the next generation is above it.
  static constexpr std::uint64_t kGenerationMax = std::uint64_t{1} << 52;

  ObjectName name;
  std::uint64_t generation = 0;

  friend bool operator==(const KernelNote&, const KernelNote&) = default;
};

std::string encode(const KernelNote& note);
std::optional<KernelNote> parse_note(std::string_view text);

class KernelView {
 public:
  using Keys = std::set<drivers::ListenerKey>;

  const drivers::Held& held() const { return held_; }
  void replace(drivers::Held held);

  // What is held is right as of this generation too.
  void trust(std::uint32_t generation) { held_.generation = generation; }

  // Nothing, where there is none or its note says nobody.
  std::optional<KernelNote> note_of(const drivers::ListenerKey& key) const;

  // Of one load balancer: its listeners, the addresses these are on, and the highest generation
  // among them; nothing and 0 where the kernel holds nothing of it.
  const Keys& keys_of(const ObjectName& name) const;
  std::set<IpAddress> addresses_of(const ObjectName& name) const;
  std::uint64_t generation_of(const ObjectName& name) const;

  // Everybody of whom the kernel holds something.
  const std::map<ObjectName, Keys>& all() const { return keys_; }

  // Has the driver carry out the plan, and knows afterwards what came of it.
  Result<> apply(const drivers::Plan& plan, drivers::BalancerDriver& driver);

 private:
  void enter(const drivers::ListenerKey& key);
  void leave(const drivers::ListenerKey& key);

  drivers::Held held_;
  std::map<ObjectName, Keys> keys_;
};

// What differs between what should stand in the kernel and what was found there.
struct KernelDrift {
  struct Listener {
    drivers::ListenerKey key;
    drivers::HeldListener expected;
    drivers::HeldListener found;
  };
  std::vector<Listener> listeners;
  std::vector<IpAddress> unguarded;  // Should be guarded, and are not.
  std::vector<IpAddress> guarded;    // The other way round.
  bool structure = false;
  bool links = false;

  bool empty() const;
};

KernelDrift compare(const drivers::Held& expected, const drivers::Held& found);

}  // namespace isthmus::infra
