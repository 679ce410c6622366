// The inside of the route controller, shared by its sources:
//
//   route.cc         the start, the two roads of a key, and what the cloud says by itself
//   route_table.cc   all routes: the key of the table
//   route_node.cc    one Node: its routes where the cloud is told each, its condition, its events
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "isthmus/base/signal.h"
#include "isthmus/cloud/ownership.h"
#include "isthmus/controllers/contested.h"
#include "isthmus/controllers/newest.h"
#include "isthmus/controllers/route.h"
#include "isthmus/controllers/route_book.h"
#include "isthmus/controllers/route_condition.h"
#include "isthmus/controllers/route_live.h"
#include "isthmus/controllers/route_metrics.h"
#include "isthmus/controllers/teller.h"
#include "isthmus/kube/api/decode.h"

namespace isthmus::controllers {

struct RouteController::Inside {
  Inside(RouteControllerOptions options_, RouteDoors doors);

  using NodePtr = kube::Snapshot<kube::Node>;

  // route.cc
  Task<Result<>> run(kube::Controller& runner);
  Task<Result<>> identify();
  Task<Result<>> follow_nodes();
  Task<Result<>> follow_cloud();
  void note(const kube::Difference<kube::Node>& difference);
  void hear(std::optional<cloud::RouteTableState> table, bool is_first);
  void wake_changed(const std::map<IpPrefix, cloud::RouteState>& before);
  void wake_due_nodes();
  bool is_due(const kube::ObjectKey& key, const NodeRoutes& entry) const;

  // route_table.cc
  Task<Result<kube::Action>> sync_routes();
  Task<Result<bool>> sync_all();
  Task<Result<>> look();
  void make_plan();
  Task<Result<>> verify();
  std::vector<cloud::RouteState> removable();
  void judge(const LivePodCidrs& live, std::vector<cloud::RouteState>& due);
  Result<> brakes() const;
  void hold(const Error& why);
  Task<Result<bool>> write_table();
  cloud::RouteTableSpec wanted_table() const;
  bool is_confirmed(const PlannedRoute& planned) const;
  Task<Result<bool>> release_singles();
  static Task<Result<>> release_one(cloud::RouteState state, Inside& self);
  kube::Action next_look() const;

  // route_node.cc
  Task<Result<kube::Action>> sync_node(kube::ObjectKey key);
  Task<Result<>> make_singles(kube::ObjectKey key);
  Task<Result<>> make_one(cloud::Route route);
  const PlannedRoute* planned(const IpPrefix& destination) const;
  const NodeRoutes* entry_of(const kube::Node& node) const;
  Reach reach_of(const NodeRoutes& entry) const;
  std::vector<Notice> notices_of(const kube::Node& node, const NodeRoutes& entry) const;
  std::optional<Duration> patience_left(const kube::Node& node, const NodeRoutes& entry);
  void tell_other_owner(const kube::Node& node);
  Task<Result<>> report(NodePtr node, std::optional<RouteCondition> due,
                        std::vector<Notice> notices);
  Task<Result<>> write_condition(NodePtr node, RouteCondition condition, std::string message);
  void forget(const kube::ObjectKey& key);

  const RouteControllerOptions options;
  kube::Store<kube::Node>& nodes;
  kube::ApiDoor& api;
  cloud::RouteTables* tables;  // Null: the cloud is told each route…
  cloud::Routes* singles;      // …through this; else null.
  kube::Recorder& recorder;
  Loop& loop;
  Random& random;
  Logger& log;
  const std::function<Result<>()> nodes_are_current;
  const std::function<Result<>()> deletions_are_safe;

  std::optional<cloud::ClusterUid> cluster = {};
  std::string table_name = {};
  kube::Controller* queue = nullptr;  // Set by run.
  Newest<kube::Node> newest;
  Teller teller;
  kube::Decoder decoder;

  RouteBook book = {};
  RoutePlan plan = {};      // As last worked out…
  bool plan_is_old = true;  // …and the Nodes have changed since.
  RouteRemovals removals;
  std::vector<cloud::RouteState> removing = {};               // That the present pass takes away.
  std::set<std::pair<IpPrefix, std::string>> confirmed = {};  // By the Node's uid.
  Moment confirmed_at = {};
  std::optional<Error> trouble = {};  // Why the last pass failed.
  std::string held_because = {};  // Why nothing is taken away, as it was told; empty: it may be.
  Moment held_told_at{};

  Signal dirty = {};          // The Nodes have changed.
  bool nodes_changed = true;  // And no pass has begun since.
  bool is_heard = false;      // Its stream is up.
  bool must_get = true;       // Somebody else may have written the table since it was got.
  bool is_writing = false;    // An ensure is under way, of which the stream may tell first.
  std::uint64_t heard_generation = 0;  // It has told of, since an ensure or get was begun.
  bool is_out = false;                 // Its outage was logged.
  std::map<kube::ObjectKey, Moment> unreached_since = {};
  // Nodes that are looked at until nothing is wrong with them.
  std::set<kube::ObjectKey> told = {};
  bool other_owner_told = false;
  ContestedFields contested;
  RouteMetrics metrics;
};

}  // namespace isthmus::controllers
