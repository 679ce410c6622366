// Places of those who wait until the API server has said who they are, or what they may do.
//
// Anybody may connect and be looked up, so places are shared out in such a way that strangers
// cannot take all of them: a network gets a few, and together they leave some over for those who
// were let in before.
#pragma once

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

// Strangers of one network: it takes four of these to keep other strangers out.
inline constexpr std::size_t kReviewsPerNetworkMax = 8;

// The network by which a peer (net::Peer::address) is counted: its address without the port; of
// IPv6 the 64 bits that one machine may vary behind.
std::string network_of(std::string_view peer);

// A resource; outlives its places.
class ReviewPlaces {
 public:
  // Held while one waits; given back when it is destroyed.
  class Place {
   public:
    Place(Place&& other) noexcept;
    Place& operator=(Place&&) = delete;
    ~Place();

   private:
    friend class ReviewPlaces;
    Place(ReviewPlaces& owner, std::optional<std::string> network);

    ReviewPlaces* owner_;                 // Null: moved from.
    std::optional<std::string> network_;  // Of a stranger.
  };

  // nullopt: there is none left for such a caller, now. Where one comes from who is known does not
  // matter.
  std::optional<Place> take_for_known();
  std::optional<Place> take_for_stranger(std::string network);

 private:
  std::map<std::string, std::size_t> networks_;  // Places of strangers, by network; no zeros.
  std::size_t strangers_ = 0;
  std::size_t all_ = 0;
};

}  // namespace isthmus::app
