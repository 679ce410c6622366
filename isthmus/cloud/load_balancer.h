// Load balancers and what they send to, in our own words: what a controller asks for, and what a
// cloud answers.
//
// All of these are values: copyable, comparable, and constant once they were answered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "isthmus/base/clock.h"
#include "isthmus/base/ip.h"
#include "isthmus/base/result.h"
#include "isthmus/cloud/model.h"

namespace isthmus::cloud {

// One machine that load balancers send to.
struct Target {
  std::string name = {};                    // Unique among the targets: the machine's, for people.
  std::vector<IpAddress> addresses = {};    // At most one per family.
  std::optional<ProviderId> instance = {};  // For clouds that balance to machines, not addresses.

  friend bool operator==(const Target&, const Target&) = default;
};

// Machines that many load balancers send to, changed for all of them in one call.
struct TargetSetSpec {
  std::string name = {};  // From ownership.h.
  std::map<std::string, std::string> labels = {};
  std::vector<Target> targets = {};  // In the order of their names.

  friend bool operator==(const TargetSetSpec&, const TargetSetSpec&) = default;
};

// What a load balancer shall be, whole: a declarative cloud takes it in one request, an imperative
// one is compared with it property by property.
struct LoadBalancerSpec {
  enum class Affinity : std::uint8_t { none, client_ip };
  enum class SourceAddress : std::uint8_t { masquerade, keep };

  struct Listener {
    std::string name = {};  // Unique in the load balancer: a DNS-1123 label.
    Protocol protocol = Protocol::tcp;
    std::uint16_t port = 0;
    std::uint16_t target_port = 0;
    friend bool operator==(const Listener&, const Listener&) = default;
  };

  // Of every target, for all listeners.
  struct HealthCheck {
    enum class Protocol : std::uint8_t { tcp, http };
    Protocol protocol = Protocol::tcp;
    std::uint16_t port = 0;      // 0: the one that the listener sends to.
    std::string http_path = {};  // Of http only.
    Duration interval = std::chrono::seconds(5);
    Duration timeout = std::chrono::seconds(2);
    std::uint32_t rise = 2;
    std::uint32_t fall = 2;
    friend bool operator==(const HealthCheck&, const HealthCheck&) = default;
  };

  std::string name = {};  // From ownership.h: stable, unique, ours.

  // Kept beside the load balancer and answered with its state; for people, and to remember by.
  std::map<std::string, std::string> labels = {};

  std::string pool = {};  // Where addresses come from; empty: the cloud's choice.
  std::vector<IpAddress> requested_addresses = {};  // Honoured or refused. Empty: any.

  // What it had before, as far as anybody remembers: given again where they are free and nothing
  // else is requested, and passed over else. No part of what the load balancer is: leaving them
  // out later changes nothing.
  std::vector<IpAddress> preferred_addresses = {};
  std::vector<IpFamily> families = {IpFamily::v4};  // Of the addresses: at least one.

  std::vector<Listener> listeners = {};
  std::string target_set = {};       // The name of a TargetSetSpec; empty: `targets`.
  std::vector<Target> targets = {};  // Empty is allowed and means that nobody answers.
  std::optional<HealthCheck> health_check = {};
  std::vector<IpPrefix> source_ranges = {};  // Empty: everyone.
  Affinity affinity = Affinity::none;
  std::optional<SourceAddress> source_address = {};  // nullopt: the cloud's choice.

  friend bool operator==(const LoadBalancerSpec&, const LoadBalancerSpec&) = default;
};

struct LoadBalancerState {
  // One part of the spec that the cloud did not take; the others stand, nothing is rolled back.
  struct Problem {
    std::string part = {};  // "listener tcp/80"
    Error error = {};
    friend bool operator==(const Problem&, const Problem&) = default;
  };

  // Something that is so now and that people should know: a condition of the cloud's.
  struct Fact {
    std::string reason = {};   // One word that people may filter by: ReturnPathMissing.
    std::string message = {};  // What it is and the next step.
    friend bool operator==(const Fact&, const Fact&) = default;
  };

  // How many targets pass their health check: unknown while that is being found out, and where
  // nothing is checked.
  enum class Health : std::uint8_t { unknown, none, some, all };

  std::string name = {};
  std::map<std::string, std::string> labels = {};
  std::vector<IpAddress> addresses = {};  // It holds them; packets are answered once it is settled.
  bool settled = false;                   // False: accepted, and still being worked on.
  bool is_leaving = false;                // Its release was asked for and is being worked on.

  // Traffic from inside the cluster must pass it too, as it does something with the bytes: then
  // nobody may take a short cut to the targets.
  bool must_be_passed = false;

  // Counts the changes of what was asked for, whoever asked; 0: this cloud does not count. One that
  // is higher than our own ensure left it says that somebody else changed it.
  std::uint64_t generation = 0;
  std::uint64_t revision = 0;  // Of two states the newer one has the higher; 0: not known.

  Health health = Health::unknown;

  // How many targets it has now, its own or those of its set, as the cloud counts them: machines,
  // or the addresses of them that it sends to; nullopt: it does not say.
  std::optional<std::size_t> targets = {};
  std::uint64_t repairs = 0;  // How often the cloud put something right that somebody had changed.
  std::string last_repair = {};  // What that was.
  std::vector<Problem> problems = {};
  std::vector<Fact> facts = {};

  // Of get only, for people who ask why: what is not done of it yet, by the cloud's words for its
  // steps, and the targets that get nothing. A few of many.
  std::vector<Fact> unfinished = {};
  std::vector<Fact> sick = {};

  friend bool operator==(const LoadBalancerState&, const LoadBalancerState&) = default;
};

// What an ensure would do, without doing it.
struct LoadBalancerPreview {
  enum class Effect : std::uint8_t { created, changed, unchanged };
  struct Change {
    std::string part = {};  // In the cloud's own words.
    std::string from = {};
    std::string to = {};
    friend bool operator==(const Change&, const Change&) = default;
  };
  Effect effect = Effect::unchanged;
  std::vector<IpAddress> addresses = {};
  std::vector<Change> changes = {};

  friend bool operator==(const LoadBalancerPreview&, const LoadBalancerPreview&) = default;
};

// The same of a target set.
struct TargetSetPreview {
  LoadBalancerPreview::Effect effect = LoadBalancerPreview::Effect::unchanged;
  std::vector<LoadBalancerPreview::Change> changes = {};

  friend bool operator==(const TargetSetPreview&, const TargetSetPreview&) = default;
};

// What a cloud says by itself.
struct LoadBalancerNews {
  enum class Kind : std::uint8_t {
    everything,  // All load balancers there are: what is not among `states` does not exist.
    changed,     // `states` has one.
    removed,     // `states` has the last of one that is gone.
    resources,   // Pools or limits changed: who was refused may ask again. No states.
  };
  Kind kind = Kind::everything;
  std::vector<LoadBalancerState> states = {};
};

}  // namespace isthmus::cloud
