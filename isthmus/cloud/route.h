// Routes to the networks of machines (a Node's pods, say), in our own words: what a controller asks
// for, and what a cloud answers.
//
// All of these are values: copyable, comparable, and constant once they were answered. Prefixes are
// parsed, so two spellings of one destination are one destination.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "isthmus/base/ip.h"
#include "isthmus/cloud/model.h"

namespace isthmus::cloud {

// Packets to `destination` go to the machine.
struct Route {
  IpPrefix destination = {};

  // nullopt: it is none of this cloud's, and next_hop says where it is. A cloud that routes to
  // machines alone refuses that.
  std::optional<ProviderId> instance = {};

  // The address of the machine to send to, of the destination's family; nullopt: the cloud knows
  // the machine's own, and follows when it changes.
  std::optional<IpAddress> next_hop = {};

  friend bool operator==(const Route&, const Route&) = default;
};

// A route as the cloud has it.
struct RouteState {
  enum class Standing : std::uint8_t {
    applied,   // Packets take it.
    pending,   // Accepted; packets do not take it yet, or cannot: the reason says why.
    conflict,  // Somebody else's route or network is in its way, and keeps its place.
    refused,   // Not taken at all: this one will never do as it is.
  };

  IpPrefix destination = {};

  // nullopt: it was made without, or the cloud does not know whose the next hop is. That is no word
  // about any machine; a listing of machines with a hole in it makes every route look like that.
  std::optional<ProviderId> instance = {};
  std::optional<IpAddress> next_hop = {};  // As in the Route that was asked for.
  Standing standing = Standing::pending;

  // The cloud knows that somebody else made it: never to be changed. Clouds without such marks
  // answer false for all.
  bool is_foreign = false;

  // Why it is not applied: one word that people may filter by, and what it is with the next step.
  // No reason: the cloud has not looked at it yet, and what stood before still stands.
  std::string reason = {};
  std::string message = {};

  friend bool operator==(const RouteState&, const RouteState&) = default;
};

std::string_view to_string(RouteState::Standing standing);

// Whether the state is about this very route, wherever that stands.
bool is_about(const RouteState& state, const Route& route);

// All routes of a cluster: what is not among them shall not be.
struct RouteTableSpec {
  std::string name = {};  // From ownership.h.
  std::map<std::string, std::string> labels = {};
  std::vector<IpPrefix> ranges = {};  // Where its destinations lie; apart from each other.
  std::vector<Route> routes = {};     // One per destination, in their order.

  friend bool operator==(const RouteTableSpec&, const RouteTableSpec&) = default;
};

struct RouteTableState {
  // Something that is so now of the whole table and that people should know.
  struct Fact {
    std::string reason = {};
    std::string message = {};
    friend bool operator==(const Fact&, const Fact&) = default;
  };

  std::string name = {};
  std::vector<IpPrefix> ranges = {};
  std::vector<RouteState> routes = {};  // One per destination, in their order.

  // Everything that can be done for the spec was done: what it no longer has is gone.
  bool settled = false;
  bool is_leaving = false;  // Its release was asked for and is being worked on.

  // Counts the changes of what was asked for, whoever asked; 0: this cloud does not count.
  std::uint64_t generation = 0;
  std::vector<Fact> facts = {};

  friend bool operator==(const RouteTableState&, const RouteTableState&) = default;
};

}  // namespace isthmus::cloud
