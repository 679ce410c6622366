// Why an object is not as somebody wants it: the chain from the object to packets, link by link, up
// to the first one that is broken (`isthmus explain`). Values and plain functions; who finds the
// facts out is in app/cluster_facts.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "isthmus/base/clock.h"
#include "isthmus/base/result.h"
#include "isthmus/kube/api/event.h"
#include "isthmus/kube/api/lease.h"
#include "isthmus/kube/api/meta.h"

namespace isthmus::controllers {

struct Link {
  enum class State : std::uint8_t {
    ok,
    broken,   // Here it stops.
    unknown,  // It could not be looked at; what comes behind it may be.
  };

  std::string name = {};  // Stable, for programs: "object", "manager", "load-balancer".
  State state = State::ok;
  std::string evidence = {};  // What was seen.
  std::string next = {};      // What to do about it; of a link that is not ok.

  friend bool operator==(const Link&, const Link&) = default;
};
std::string_view to_string(Link::State state);

struct Explanation {
  std::string kind = {};  // "Service", "Node".
  kube::ObjectKey key = {};
  std::vector<Link> links = {};          // The last is the broken one, if any is.
  std::vector<kube::Event> events = {};  // About the object, of ours; the oldest first.

  friend bool operator==(const Explanation&, const Explanation&) = default;
};

bool is_broken(const Explanation& explanation);

// The names of the links that could not be looked at.
std::vector<std::string> unknown_links(const Explanation& explanation);

// One JSON document; every member is always there:
//   {"kind":"Explanation","object":{"kind","namespace","name"},"broken":"<link>" or null,
//    "links":[{"name","state","evidence","next"}],
//    "events":[{"type","reason","message","count","lastTime"}]}
std::string encode(const Explanation& explanation);

// A chain that is being walked: a broken link ends it.
class Chain final {
 public:
  // Whether a cloud was named to ask.
  explicit Chain(Explanation explanation, bool has_cloud = false)
      : explanation_(std::move(explanation)), has_cloud_(has_cloud) {}

  // Each answers whether the walk goes on.
  bool ok(std::string name, std::string evidence);
  bool broken(std::string name, std::string evidence, std::string next);
  bool unknown(std::string name, std::string evidence, std::string next);

  // What could not be asked, and how it can be: a right, or a cloud, or another time.
  bool not_asked(std::string name, const Error& error);

  Explanation take() { return std::move(explanation_); }

 private:
  Explanation explanation_;
  bool has_cloud_;
};

// The Lease of the manager, as one who asks sees it. Clocks of two machines are compared for people
// only; a Lease that moves while it is looked at is alive whatever they say.
struct LeaseFacts {
  kube::ObjectKey key = {};
  bool exists = false;
  kube::LeaseSpec spec = {};
  WallTime looked_at = {};
  bool moved = false;  // Renewed between two looks.
};

// How one can see what could not be looked at for that reason, where a cloud was named, or none.
std::string_view way_to_ask(Outcome outcome, bool has_cloud);

// What people have said by the ConfigMap of the safety switch (safety_config_map.h).
struct SwitchFacts {
  kube::ObjectKey key = {};
  bool stops_all = false;
};

// Whether anything may be changed: the link "switch".
bool add_switch(Chain& chain, const Result<SwitchFacts>& said);

// Whether it was renewed within its own duration, by our clock.
bool is_fresh(const LeaseFacts& lease);

// Whether a manager holds it and is alive: the link "manager" of every chain. That the holder is
// one of ours cannot be seen.
bool add_manager(Chain& chain, const Result<LeaseFacts>& lease);

// The next step where the manager, who is alive, has not done something: names the holder of the
// Lease, who may be another manager with the same Lease.
std::string look_at_manager(const Result<LeaseFacts>& lease);

}  // namespace isthmus::controllers
