#include "isthmus/controllers/teller.h"

namespace isthmus::controllers {

void Teller::tell(const kube::ObjectReference& about, const std::vector<Notice>& notices) {
  const auto told = told_.find(about.key);
  const bool same_object = told != told_.end() && told->second.uid == about.uid;
  const Facts before = same_object ? std::move(told->second.facts) : Facts();
  Facts now;
  for (const Notice& notice : notices) {
    const auto fact =
        std::pair(notice.reason, notice.sameness.empty() ? notice.message : notice.sameness);
    if (now.insert(fact).second && !before.contains(fact)) {
      recorder_.record({about, notice.warning ? kube::kEventWarning : kube::kEventNormal,
                        notice.reason, notice.message});
    }
  }
  if (now.empty()) {
    told_.erase(about.key);
  } else {
    told_.insert_or_assign(about.key, Told{about.uid, std::move(now)});
  }
}

}  // namespace isthmus::controllers
