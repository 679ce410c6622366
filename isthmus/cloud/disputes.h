// Machines that the cloud says to be gone by their ids, and those of which it has taken back that
// they are gone. Taken back once, that was late news; again and again, the cloud cannot be
// believed. So each is in dispute, and looked into, until the cloud has taken it back twice, says
// by its id that it is there, or has not said anything new for a while.
//
// It makes no difference who was told, whether the Node was Ready, or whether its kubelet makes the
// answer doubtful: that it was said is enough.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "isthmus/base/clock.h"

namespace isthmus::cloud {

// A resource.
class Disputes final {
 public:
  Disputes() = default;
  Disputes(const Disputes&) = delete;
  Disputes& operator=(const Disputes&) = delete;

  // What the cloud takes back so often within this time is a contradiction.
  static constexpr int kFlipsMax = 2;
  static constexpr Duration kFlipsWithin = std::chrono::minutes(10);

  // Somebody was told by its id that it is gone.
  void said_gone(const std::string& uid, Moment now);
  bool is_said_gone(const std::string& uid) const { return said_gone_since(uid).has_value(); }

  // Since when that stands; nullopt: it does not.
  std::optional<Moment> said_gone_since(const std::string& uid) const;

  // The cloud has taken back what it said. Whether that was once too often; then it begins anew.
  bool took_back(const std::string& uid, Moment now);

  // It is there by its id too. How often something was taken back stays counted.
  void settle(const std::string& uid);

  void forget(const std::string& uid);
  void clear();

  // What nothing has come of for so long is over.
  void expire(Moment now);

  // By uid, in the order in which they began.
  const std::vector<std::string>& open() const { return open_; }

 private:
  struct Dispute {
    std::optional<Moment> said_gone_since = {};
    std::optional<Moment> said_gone_at = {};  // The last time.
    int flips = 0;
    std::optional<Moment> flipped_at = {};

    void unsay();  // That it is gone.
  };

  void begin(const std::string& uid);

  std::map<std::string, Dispute> disputes_;  // By uid; also those that are settled.
  std::vector<std::string> open_;
};

}  // namespace isthmus::cloud
