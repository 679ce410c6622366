// A latch that falls when too many go at once, and then holds all of them: of a zone, of the
// cluster, or the last that are Ready.
//
// It opens in two ways, and both only let through who stands before it then, slowly:
//   - somebody acknowledges its id, which names this one incident, for as long as that holds;
//   - the views of the cloud were complete and agreed with each other for a long, unbroken time,
//     through all of which it waited.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "isthmus/cloud/deletion_policy.h"
#include "isthmus/cloud/subject.h"

namespace isthmus::cloud {

// A resource.
class RemovalLatch final {
 public:
  // Subjects by uid.
  using Batch = std::set<std::string, std::less<>>;

  // `quiet`: for how long views must have agreed; nullopt: it only opens by acknowledgement, or
  // when its reason is gone (release()).
  RemovalLatch(std::string name, std::optional<Duration> quiet)
      : name_(std::move(name)), quiet_(quiet) {}

  // Falls; true when it had not fallen already.
  bool engage(Now now, std::string why);
  bool engaged() const { return engaged_at_.has_value(); }

  // "node-deletion/zone/rack-7/2026-11-30T07:33:24Z": of the last incident. Empty: there was none.
  const std::string& id() const { return id_; }
  const std::string& why() const { return why_; }

  // What a view of the cloud was: complete, under control and like the one before; or anything
  // else. Views that come too far apart do not make an unbroken time.
  void agreed(Moment at);
  void disagreed();

  // Opens if views have agreed for long enough; true when it did. Lets through those of `waiting`
  // who also waited when this was asked first since the views began to agree.
  bool settle(const Batch& waiting, Moment now);

  // Whether somebody's word about this incident holds: who waits when it is given is let through.
  void note_acknowledged(bool acknowledged, const Batch& waiting);

  // Its reason is gone.
  void release();

  // This one is no candidate any more.
  void forget(std::string_view uid);

  bool holds(std::string_view uid) const { return engaged() && !has_let_through(uid); }
  bool has_let_through(std::string_view uid) const {
    return let_through_.contains(uid) || (acknowledged_ && acknowledged_->contains(uid));
  }

  // When it opens at the earliest; nullopt: nobody knows.
  std::optional<Moment> opens_at() const;

  // Nothing needs to be remembered of it.
  bool is_idle() const { return !engaged() && let_through_.empty(); }

  static constexpr std::string_view kPrefix = "node-deletion/";

 private:
  const std::string name_;
  const std::optional<Duration> quiet_;
  std::string id_;
  std::string why_;
  std::optional<Moment> engaged_at_;
  std::optional<Moment> agreeing_since_;
  Moment agreed_at_{};
  std::optional<Batch> agreed_on_;  // Who waits since the views began to agree.
  Batch let_through_;
  std::optional<Batch> acknowledged_;
};

}  // namespace isthmus::cloud
