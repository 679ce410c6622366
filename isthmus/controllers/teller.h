// Tells people about an object once per change of the story: what was told stays told until it is
// no longer so, and is told again only when it comes back.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "isthmus/controllers/notice.h"
#include "isthmus/kube/api/meta.h"
#include "isthmus/kube/recorder.h"

namespace isthmus::controllers {

// A resource; the recorder outlives it. Remembers per object about as much as is wrong with it.
class Teller final {
 public:
  explicit Teller(kube::Recorder& recorder) : recorder_(recorder) {}

  // Everything that is so about the object now. Tells what was not so at the last call for this
  // object (the same key and uid).
  void tell(const kube::ObjectReference& about, const std::vector<Notice>& notices);

  // The object is gone.
  void forget(const kube::ObjectKey& key) { told_.erase(key); }

 private:
  using Facts = std::set<std::pair<std::string, std::string>>;  // Reason and sameness.
  struct Told {
    std::string uid;
    Facts facts;
  };

  kube::Recorder& recorder_;
  std::map<kube::ObjectKey, Told> told_;
};

}  // namespace isthmus::controllers
