// Load balancers of the cloud in memory. What stands is there to be read and to be
// changed by other people's hands; who follows hears of it when `touched` or `take_away` says so.
//
// Nothing happens by itself between calls, except for those who follow: what was to settle or go
// meanwhile has, as soon as somebody calls or follows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "isthmus/base/clock.h"
#include "isthmus/cloud/provider.h"
#include "isthmus/providers/fake/fake_calls.h"
#include "isthmus/providers/fake/fake_follower.h"
#include "isthmus/providers/fake/fake_pool.h"

namespace isthmus::providers::fake {

struct FakeBalancer {
  cloud::LoadBalancerSpec spec = {};  // As last ensured, without preferred addresses.
  std::vector<IpAddress> addresses = {};
  std::uint64_t generation = 0;
  std::uint64_t revision = 0;
  bool settled = false;
  Moment settles_at = {};
  std::optional<Moment> gone_at = {};  // It is leaving, and will be gone then.
  bool must_be_passed = false;
  cloud::LoadBalancerState::Health health = cloud::LoadBalancerState::Health::unknown;
  std::uint64_t repairs = 0;
  std::string last_repair = {};
  std::vector<cloud::LoadBalancerState::Problem> problems = {};
  std::vector<cloud::LoadBalancerState::Fact> facts = {};
};

class FakeTargetSets;

// A resource. What it answers is also true of the map: get answers what stands in it.
class FakeLoadBalancers final : public cloud::LoadBalancers {
 public:
  FakeLoadBalancers(FakeCalls& calls, FakeTargetSets& sets) : calls_(calls), sets_(sets) {}
  ~FakeLoadBalancers() override;

  // An equal spec changes nothing. One that is leaving comes back, with its addresses.
  Task<Result<cloud::LoadBalancerState>> ensure(cloud::LoadBalancerSpec spec) override;
  Task<Result<>> release(std::string name) override;
  Task<Result<cloud::LoadBalancerState>> get(std::string name) override;
  Task<Result<cloud::Listing<cloud::LoadBalancerState>>> list() override;
  Task<Result<cloud::LoadBalancerPreview>> preview(cloud::LoadBalancerSpec spec) override;
  Task<Result<>> follow(std::function<void(cloud::LoadBalancerNews)> tell) override;

  std::map<std::string, FakeBalancer, std::less<>> standing;

  // The addresses: our own pool, or that of another of these, for two owners in one cloud. Set
  // before the first call; the other outlives this one.
  FakePool pool;
  void share_pool_of(FakeLoadBalancers& other) { pool_in_use_ = other.pool_in_use_; }
  std::string owner = "cluster";  // Addresses are held by "owner/name".

  Duration settle_after = {};   // From a change on.
  Duration release_takes = {};  // Meanwhile release is busy.
  bool tells = true;            // Off: follow is unsupported.

  // Calls that came in, whatever became of them.
  std::size_t ensures = 0;
  std::size_t releases = 0;
  std::size_t gets = 0;
  std::size_t lists = 0;
  std::size_t previews = 0;
  std::size_t follows = 0;

  // Calls of ensure that changed something.
  std::size_t writes = 0;

  // By other people's hands. `touched`: the test has changed something in the map, and everybody
  // hears of it under a new revision, and a new generation where it was asked for. `repaired`: the
  // cloud put right what somebody had changed. `take_away`: it is gone with its addresses.
  void touched(std::string_view name, bool asked_for = false);
  void repaired(std::string_view name, std::string what);
  void take_away(std::string_view name);
  void take_all_away();

  // Those who wait for addresses may ask again.
  void resources_changed();

  // Everybody who follows is cut off with `lost`; how many do now.
  void cut_follows();
  std::size_t followers() const { return followers_.size(); }

  // What get would answer. The name must stand.
  cloud::LoadBalancerState state_of(std::string_view name) const;

 private:
  using Follower = FakeFollower<cloud::LoadBalancerNews>;

  Result<> validate(const cloud::LoadBalancerSpec& spec) const;
  std::string holder(std::string_view name) const { return owner + "/" + std::string(name); }
  void catch_up(Moment now);
  std::optional<Moment> next_event() const;
  void tell(cloud::LoadBalancerNews::Kind kind, std::vector<cloud::LoadBalancerState> states);
  cloud::LoadBalancerNews everything() const;
  void forget(std::map<std::string, FakeBalancer, std::less<>>::iterator gone);

  FakeCalls& calls_;
  FakeTargetSets& sets_;
  FakePool* pool_in_use_ = &pool;
  std::uint64_t revision_ = 0;
  std::map<std::string, std::uint64_t, std::less<>> last_generations_;  // Of what is gone.
  Follower::All followers_;
};

}  // namespace isthmus::providers::fake
