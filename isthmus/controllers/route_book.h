// What is known of a cluster's routes in the cloud: what it said last, what we asked for last, and
// what failed since.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "isthmus/base/clock.h"
#include "isthmus/cloud/route.h"

namespace isthmus::controllers {

// A value.
struct RouteBook {
  bool is_known = false;     // The cloud has said what there is, and no later change is known.
  bool is_complete = false;  // What it did not mention is not there.
  bool is_taken = false;     // It has taken routes of ours: they are its business, and ours.
  std::map<IpPrefix, cloud::RouteState> routes = {};

  // Of a table alone.
  bool stands = false;
  bool settled = false;
  std::vector<IpPrefix> ranges = {};
  std::uint64_t generation = 0;
  std::optional<cloud::RouteTableSpec> sent = {};  // What our last ensure said…
  std::uint64_t sent_generation = 0;               // …and left it with…
  Moment sent_at = {};                             // …at this moment.

  // Why the last attempt at a single route failed, or the last ensure of the table left it out.
  std::map<IpPrefix, cloud::RouteState> failed = {};

  // What the cloud said of the table; nullopt: there is none. A route that stood, and that it has
  // not looked at since something else changed, still stands.
  void learn(const std::optional<cloud::RouteTableState>& table);
  void learn(const cloud::Listing<cloud::RouteState>& listing);

  // What an ensure of the table was answered, at that moment.
  void learn_ensured(cloud::RouteTableSpec spec, cloud::RouteTableState table, Moment now);

  // Whether an ensure of that would change nothing. What was refused is asked for again after a
  // while: nobody tells when it would be taken.
  bool is_as_asked(const cloud::RouteTableSpec& spec, Moment now) const;

  // Whether somebody else changed the table since our last ensure of it.
  bool was_changed_by_others() const;

  // Whether the table stands without it because the cloud does not take it, though we asked.
  bool was_left_out(const IpPrefix& destination) const;

  // What became of a route that was asked for; null: nothing is known of it.
  const cloud::RouteState* find(const IpPrefix& destination) const;

  std::vector<cloud::RouteState> all() const;
};

}  // namespace isthmus::controllers
