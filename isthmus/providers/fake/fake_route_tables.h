// Tables of routes of the cloud in memory: its declarative door. What is asked for is put into
// effect after a while and kept so, except where somebody else's route is in the way or the machine
// is none of the cloud's.
//
// Nothing happens by itself between calls, except for those who follow: what was due meanwhile has
// been done, as soon as somebody calls or follows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "isthmus/base/clock.h"
#include "isthmus/cloud/provider.h"
#include "isthmus/providers/fake/fake_calls.h"
#include "isthmus/providers/fake/fake_follower.h"
#include "isthmus/providers/fake/fake_router.h"

namespace isthmus::providers::fake {

struct FakeRouteTable {
  cloud::RouteTableSpec spec = {};  // As last ensured, without what was refused.
  std::uint64_t generation = 0;
  std::set<IpPrefix> applied = {};  // What was put into effect for it.
  std::optional<Moment> due = {};   // When the rest will be.
  std::optional<Moment> gone_at = {};
};

// A resource.
class FakeRouteTables final : public cloud::RouteTables {
 public:
  FakeRouteTables(FakeCalls& calls, FakeRouter& router,
                  const std::vector<cloud::Instance>& machines)
      : calls_(calls), router_(router), machines_(machines) {}
  ~FakeRouteTables() override;

  Task<Result<cloud::RouteTableState>> ensure(cloud::RouteTableSpec spec) override;
  Task<Result<cloud::RouteTableState>> get(std::string name) override;
  Task<Result<>> release(std::string name) override;
  Task<Result<>> follow(std::string name, Tell tell) override;

  std::map<std::string, FakeRouteTable, std::less<>> standing;

  bool supported = true;       // Off: every answer is `unsupported`.
  bool tells = true;           // Off: follow is unsupported.
  Duration apply_after = {};   // From a change on.
  std::set<IpPrefix> refused;  // Destinations that will never do.

  // Another owner's tables in the same cloud: no range of theirs is given to us. The other outlives
  // this one.
  void share_ranges_with(const FakeRouteTables& other) { neighbour_ = &other; }

  // Calls that came in, whatever became of them.
  std::size_t ensures = 0;
  std::size_t gets = 0;
  std::size_t releases = 0;
  std::size_t follows = 0;
  std::size_t writes = 0;  // Calls of ensure that changed something.

  // The test has changed the router or a table: what can be repaired is, and everybody hears of it.
  // `asked_for`: under a new generation.
  void touched(std::string_view name, bool asked_for = false);

  // Everybody who follows is cut off with `lost`; how many do now.
  void cut_follows();
  std::size_t followers() const { return followers_.size(); }

  // Does what is due, for who looks at the router without calling.
  void catch_up(Moment now);

  // What get would answer. The table must stand.
  cloud::RouteTableState state_of(std::string_view name) const;

 private:
  using Follower = FakeFollower<std::optional<cloud::RouteTableState>>;

  Result<> validate(const cloud::RouteTableSpec& spec) const;
  bool is_known(const cloud::Route& route) const;
  cloud::RouteState state_of(const FakeRouteTable& table, const cloud::Route& route) const;
  void put_into_effect(FakeRouteTable& table);
  std::optional<Moment> next_event() const;
  void tell(const std::string& name);

  FakeCalls& calls_;
  FakeRouter& router_;
  const std::vector<cloud::Instance>& machines_;
  const FakeRouteTables* neighbour_ = nullptr;
  std::map<std::string, std::uint64_t, std::less<>> last_generations_;  // Of what is gone.
  Follower::All followers_;
};

}  // namespace isthmus::providers::fake
