// The contract of a cloud. A provider implements Provider and as many capabilities as it has; the
// wrappers of stack.h implement the same interfaces around it, so controllers cannot tell.
//
// Rules for all of them:
// - Only an authoritative, typed answer is Outcome::absent. A 404 from a proxy, an empty page, an
//   answer about another id than asked for, or one that cannot be understood, is `lost`; a refused
//   credential is `denied`. Answering absent when in doubt deletes somebody's live node.
// - A rate limit is `busy` with the time the cloud named. Everyone then waits; answering it as
//   `lost` keeps hammering a cloud that asked for silence.
// - Fail fast. Nobody below the work queue retries or sleeps; nested retries multiply.
// - Verbs are idempotent: "ensure" and "release" may be called again after any outcome.
// - Things that are not ours (ownership.h) are never changed and never deleted.
// - Arguments are values. A cancelled call may or may not have had its effect.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "isthmus/base/result.h"
#include "isthmus/base/task.h"
#include "isthmus/cloud/load_balancer.h"
#include "isthmus/cloud/model.h"
#include "isthmus/cloud/route.h"

namespace isthmus::cloud {

// The machines. Reads only: nothing in a cluster makes or destroys machines through us.
class Instances {
 public:
  virtual ~Instances() = default;

  // The machine with exactly this id, stopped ones included. A found machine whose provider_id is
  // another one is a provider's bug and is answered as `lost`.
  //
  // A cloud that answers, but knows nothing of the id and cannot vouch that it is gone (its store
  // may have been restored from yesterday), answers an Instance with presence `unknown` and little
  // or nothing but the id: that is no error of the cloud, and no vote for deletion either.
  //
  // absent: the cloud positively says that it has no such machine. This is one vote for deleting
  // its Node. invalid: the id has another scheme or a form we never wrote.
  virtual Task<Result<Instance>> get(ProviderId id) = 0;

  // At least every machine that matches any field of the query; more is allowed, so that a
  // provider without a search answers with all and the caller compares. Order is stable between
  // calls while nothing changes.
  //
  // A listing is `complete` only if every page of one consistent view was read; a complete listing
  // that lacks a machine is evidence against it, so a partial one that claims to be complete
  // deletes nodes. An item that cannot be understood makes the listing partial, not shorter.
  virtual Task<Result<Listing<Instance>>> list(InstanceQuery query) = 0;
};

// The load balancers of one cluster.
//
// Fits a declarative cloud, which takes the spec whole and converges by itself (the state is then
// not settled yet), and an imperative one, which is changed property by property: what succeeded
// stays, what did not is a Problem of the state, and the next ensure continues there.
//
// No verb waits for the cloud to be done with it: who wants to know follows, or asks again.
class LoadBalancers {
 public:
  virtual ~LoadBalancers() = default;

  // Makes it so, creating what is missing and leaving alone what is already right: where all is
  // right, nothing is written.
  //
  // conflict: it is not to be had now (a pool is exhausted, an address is held by somebody), and
  // the message names the holder and the next step. invalid: this spec will never do.
  virtual Task<Result<LoadBalancerState>> ensure(LoadBalancerSpec spec) = 0;

  // Ok when the load balancer and everything made for it is gone for good. Answering ok while a
  // remnant exists leaks it for ever: nobody asks again once the finalizer is gone.
  //
  // busy: it is under way; ask again after the time named, or when the news says so. That keeps
  // nobody else waiting: a rate limit that is met here is heard of again by the next other call.
  virtual Task<Result<>> release(std::string name) = 0;

  // absent: neither the load balancer nor any remnant of it exists.
  virtual Task<Result<LoadBalancerState>> get(std::string name) = 0;

  // All that are owned by this cluster.
  virtual Task<Result<Listing<LoadBalancerState>>> list() = 0;

  // What ensure would do now; nothing is written. Errors are those of ensure.
  virtual Task<Result<LoadBalancerPreview>> preview(LoadBalancerSpec spec) = 0;

  // Tells everything there is, then every change, in order, until the stream ends (lost) or the
  // caller is cancelled. `tell` takes note and returns. unsupported: this cloud does not say by
  // itself what happens, and has to be asked.
  virtual Task<Result<>> follow(std::function<void(LoadBalancerNews)> tell) = 0;
};

// Targets that load balancers share. Where a cloud has them, a change of a machine is one call
// however many load balancers there are; where it has not, every load balancer names its own.
class TargetSets {
 public:
  virtual ~TargetSets() = default;

  // Makes it so; writes nothing where it is. A load balancer's target_set must have been ensured
  // before it. unsupported: this server has none after all.
  virtual Task<Result<>> ensure(TargetSetSpec spec) = 0;

  // Ok when it is gone. conflict: load balancers still use it.
  virtual Task<Result<>> release(std::string name) = 0;

  // What ensure would do now; nothing is written. Errors are those of ensure.
  virtual Task<Result<TargetSetPreview>> preview(TargetSetSpec spec) = 0;
};

// The routes of one cluster, kept as a whole: for a declarative cloud, which takes all of them in
// one request, puts the difference into effect and keeps it so. A cloud that is told each route
// has Routes instead; where a provider has both, the table is used.
class RouteTables {
 public:
  using Tell = std::function<void(std::optional<RouteTableState>)>;

  virtual ~RouteTables() = default;

  // Makes it so; writes nothing where it is. What becomes of each route is in the answer, which
  // does not wait for it. A route that the cloud will never take is `refused` there, and nowhere
  // later; the others stand: nobody loses a route because of somebody else's.
  // A destination that moves to another machine is replaced: there is no moment without a route.
  //
  // conflict: a range is somebody else's, or somebody else wrote the table since it was got here
  // (nothing was written: get it, and decide anew). denied: no routes for us there. invalid: the
  // table as a whole will never do. unsupported: this server has no routes after all.
  virtual Task<Result<RouteTableState>> ensure(RouteTableSpec spec) = 0;

  // absent: there is no such table and no route of it.
  virtual Task<Result<RouteTableState>> get(std::string name) = 0;

  // Ok when it is gone with its routes. busy: that is under way; ask again.
  virtual Task<Result<>> release(std::string name) = 0;

  // Tells what the table is now (nullopt: there is none), then every change, in order, until the
  // stream ends (lost) or the caller is cancelled. `tell` takes note and returns. unsupported: this
  // cloud does not say by itself what happens, and has to be asked.
  virtual Task<Result<>> follow(std::string name, Tell tell) = 0;
};

// The routes of one cluster, one by one: for an imperative cloud.
class Routes {
 public:
  virtual ~Routes() = default;

  // All routes that there are where ours may be, those of others included and marked where the
  // cloud can tell. A route missing here is created again, so a partial listing that claims to be
  // complete makes duplicates.
  virtual Task<Result<Listing<RouteState>>> list() = 0;

  // Makes it so. One of ours to the same destination is replaced: in one step where the cloud can,
  // else the new one first where it allows two, and only then the old one goes. Ok also where
  // packets take it a moment later.
  //
  // conflict: the destination belongs to somebody else, who keeps it. invalid: this one will never
  // do.
  virtual Task<Result<>> ensure(Route route) = 0;

  // Takes an element of list() that is not foreign; ok when it is gone. One that has become another
  // since it was listed stays: conflict.
  virtual Task<Result<>> release(RouteState route) = 0;
};

// Packet filters in front of machines. No controller asks for it yet.
class Firewalls {
 public:
  virtual ~Firewalls() = default;

  // Makes it so. A rule that is applied too early opens a door, one too late drops traffic; what
  // could not be applied is an error, never silently weaker.
  virtual Task<Result<>> ensure(FirewallSpec spec) = 0;

  // Ok when it is gone and filters nothing any more.
  virtual Task<Result<>> release(std::string name) = 0;

  // All that are owned by this cluster.
  virtual Task<Result<Listing<FirewallSpec>>> list() = 0;
};

// What a provider can do; null is a normal answer and switches the controller off that needs it.
// The pointers live as long as the provider.
struct Capabilities {
  Instances* instances = nullptr;
  LoadBalancers* load_balancers = nullptr;
  TargetSets* target_sets = nullptr;
  RouteTables* route_tables = nullptr;
  Routes* routes = nullptr;
  Firewalls* firewalls = nullptr;
};

class Provider {
 public:
  virtual ~Provider() = default;

  // Its name, constant: labels of metrics and logs ("isthmus").
  virtual const std::string& name() const = 0;

  // The scheme of its provider ids, constant. Nodes with another scheme are somebody else's.
  virtual const std::string& scheme() const = 0;

  // Constant from construction to destruction.
  virtual Capabilities capabilities() = 0;

  // Whether the other side is there, lets us in and is who we think: one cheap request. The
  // program is not ready before it has answered ok once.
  //
  // denied: our credential is refused. invalid: it answers for another scheme, so every id we read
  // would be wrong. unsupported: it speaks another version of the protocol.
  virtual Task<Result<>> check() = 0;
};

}  // namespace isthmus::cloud
