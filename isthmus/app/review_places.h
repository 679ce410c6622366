// Places of those who wait until the API server has said who they are, or what they may do.
//
// Anybody may connect and be looked up, so places are shared out in such a way that strangers
// cannot take all of them: a network gets a few, and together they leave some over for those who
// were let in before. Of these each gets a few as well, because a stolen token is known, too.
#pragma once

#include <compare>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace isthmus::app {

// Of the 128 connections of the secure port, two kinds of question leave 48 to probes, whatever
// strangers and the API server do.
inline constexpr std::size_t kReviewsAtOnceMax = 40;

// Of these, so many for whom the API server has never spoken; the rest is for those it has.
inline constexpr std::size_t kStrangersReviewedMax = 32;

// Strangers of one network, or those who ask the same that was answered well before: it takes four
// networks to keep other strangers out.
inline constexpr std::size_t kReviewsAlikeMax = 8;

// The network by which a peer (net::Peer::address) is counted: its address without the port; of
// IPv6 the 64 bits that one machine may vary behind.
std::string network_of(std::string_view peer);

// A resource; outlives its places.
class ReviewPlaces {
  // Who is counted together.
  struct Group {
    bool is_strange = false;
    std::string name;  // The network of strangers, the fingerprint of who is known.
    auto operator<=>(const Group&) const = default;
  };

 public:
  // Held while one waits; given back when it is destroyed.
  class Place {
   public:
    Place(Place&& other) noexcept;
    Place& operator=(Place&&) = delete;
    ~Place();

   private:
    friend class ReviewPlaces;
    Place(ReviewPlaces& owner, Group group);

    ReviewPlaces* owner_;  // Null: moved from.
    Group group_;
  };

  // nullopt: there is none left for such a caller, now. Where one comes from who is known does not
  // matter, but what is asked: its fingerprint.
  std::optional<Place> take_for_known(std::string fingerprint);
  std::optional<Place> take_for_stranger(std::string network);

 private:
  bool has_room_for(const Group& group) const;

  std::map<Group, std::size_t> groups_;  // Their places; no zeros.
  std::size_t strangers_ = 0;
  std::size_t all_ = 0;
};

}  // namespace isthmus::app
