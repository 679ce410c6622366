// Random lives of a cluster whose cloud lies in every way at random times: whatever happens, no
// live Node is deleted, none whose machine only stopped while the cloud is honest, and never many
// at once. Each failure names its seed.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "isthmus/base/random.h"
#include "isthmus/cloud/witness_testing.h"

namespace isthmus::cloud {
namespace {

using namespace std::chrono_literals;
using testing::Deleted;
using testing::Member;

constexpr std::uint64_t kSeeds = 60;
constexpr Duration kLife = 40min;

// What an honest cloud has said is the truth after so long: the answers and the list and its
// control that a deletion follows from are all younger.
constexpr Duration kEvidenceAge = 5min;

class Life final : public testing::WitnessStage {
 public:
  explicit Life(std::uint64_t seed) : chance_(seed) {
    const int zones = 1 + static_cast<int>(chance_.below(3));
    for (int i = 0; i < zones; ++i) {
      add_members(2 + static_cast<int>(chance_.below(15)), fmt::format("z{}", i));
    }
    nodes_ = members.size();
    on_second = [this] { mischief(); };
    on_delete = [this](const Member& member) { judge_deletion(member); };
    by_id = [this](const Member& member) -> Result<Presence> { return told_by_id(member); };
    in_list = [this](const Member& member) { return told_by_list(member); };
  }

  void run() {
    pass(kLife);
    judge_pace();
  }

 private:
  enum class Lying : std::uint8_t { no, all_by_id, some_by_id, empty_list, some_in_list, both };

  Member& somebody() {
    auto place = members.begin();
    std::advance(place, static_cast<std::ptrdiff_t>(chance_.below(members.size())));
    return place->second;
  }

  void mischief() {
    if (members.empty() || chance_.below(20) != 0) return;
    Member& member = somebody();
    const std::string name = member.subject.name;
    switch (chance_.below(10)) {
      case 0:
        if (member.exists) destroyed_at_[name] = now.moment;
        destroy(name);
        break;
      case 1:
      case 2:
        if (member.kubelet_runs) stop_kubelet(name);
        break;
      case 3:
      case 4:
      case 5:
        if (member.exists) start_kubelet(name);
        break;
      case 6:
        lying_ = static_cast<Lying>(chance_.below(6));
        break;
      case 7:
        lying_ = Lying::no;
        list_error.reset();
        pulses_error.reset();
        completeness = Completeness::complete;
        break;
      case 8:
        if (chance_.below(2) == 0) list_error = Error{Outcome::lost, "cut"};
        completeness = Completeness::partial;
        break;
      case 9:
        if (chance_.below(4) == 0) pulses_error = Error{Outcome::denied, "no right"};
        break;
    }
    if (lying_ != Lying::no) lied_at_ = now.moment;
  }

  static bool is_victim(const Member& member) { return member.subject.name.back() % 2 == 0; }
  Presence truth(const Member& member) const {
    return member.exists ? Presence::present : Presence::absent;
  }
  Result<Presence> told_by_id(const Member& member) {
    if (chance_.below(50) == 0) return fail(Outcome::busy, "later");
    if (lying_ == Lying::all_by_id || lying_ == Lying::both) return Presence::absent;
    if (lying_ == Lying::some_by_id && is_victim(member)) return Presence::absent;
    return truth(member);
  }
  Presence told_by_list(const Member& member) const {
    if (lying_ == Lying::empty_list || lying_ == Lying::both) return Presence::absent;
    if (lying_ == Lying::some_in_list && is_victim(member)) return Presence::absent;
    return truth(member);
  }

  void judge_deletion(const Member& member) const {
    const std::string& name = member.subject.name;
    EXPECT_FALSE(member.kubelet_runs) << name << " lives";
    EXPECT_FALSE(member.subject.ready) << name << " is Ready";
    EXPECT_GE(now.moment - member.silent_from, 1min) << name << " was just heard of";
    const bool is_honest =
        lying_ == Lying::no && (!lied_at_ || now.moment - *lied_at_ > kEvidenceAge);
    if (!is_honest) return;
    ASSERT_FALSE(member.exists) << name << " is only stopped";
    EXPECT_GE(now.moment - destroyed_at_.at(name), 2min) << name << " was only just gone";
  }

  void judge_pace() const {
    const std::size_t most = nodes_ <= kSmallCluster ? 1 : mass_limit({}, nodes_);
    for (const Deleted& first : deleted) {
      const auto within = std::ranges::count_if(deleted, [&](const Deleted& each) {
        return each.at >= first.at && each.at - first.at < 10min;
      });
      EXPECT_LE(static_cast<std::size_t>(within), most) << "from " << first.name << " on";
    }
  }

  SeededRandom chance_;
  std::size_t nodes_ = 0;
  Lying lying_ = Lying::no;
  std::optional<Moment> lied_at_;
  std::map<std::string, Moment> destroyed_at_;
};

TEST(witness_among_lies, never_has_a_live_node_deleted_and_never_many) {
  std::size_t deleted = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Life life(seed);
    life.run();
    deleted += life.deleted.size();
  }
  EXPECT_GT(deleted, 10U) << "and it does have those deleted that are gone";
}

}  // namespace
}  // namespace isthmus::cloud
