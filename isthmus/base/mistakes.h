// Mistakes: everything that is wrong with one input, reported together.
//
// Somebody who corrects a file or a request should need one round, not one per mistake; and nothing
// of an input with a mistake is applied.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "isthmus/base/result.h"

namespace isthmus {

class Mistakes {
 public:
  // An input that is wrong from end to end must not become an endless message.
  static constexpr std::size_t kListedMax = 50;

  // `where` names the place as its reader would look for it: "/spec/ports/0/port", "line 7",
  // "--kube-api-qps". Empty: the input as a whole.
  void add(std::string_view where, std::string_view what);

  bool empty() const { return count_ == 0; }
  std::size_t count() const { return count_; }

  // The first kListedMax, "where: what", in the order they were found.
  const std::vector<std::string>& list() const { return list_; }

  // One per line, and how many more there are beyond the list.
  std::string text() const;

  // ok when there are none, else invalid with text().
  Result<> result() const;

 private:
  std::size_t count_ = 0;
  std::vector<std::string> list_;
};

}  // namespace isthmus
