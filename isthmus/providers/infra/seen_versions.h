// The versions of objects as the server last told us, for the preconditions of what we write.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "isthmus/net/http.h"

namespace isthmus::providers::infra {

// A value; about 150 bytes for each object of ours.
class SeenVersions {
 public:
  // The ETag of what stands at this path; empty: not known.
  std::string find(std::string_view path) const {
    const auto found = seen_.find(path);
    return found == seen_.end() ? std::string() : found->second;
  }

  // Takes in an answer about the object at this path; only a success says anything.
  void learn(const std::string& path, const net::Response& response) {
    if (response.status < 200 || response.status >= 300) return;
    absent_.erase(path);
    const auto version = response.headers.find("ETag");
    if (version) seen_.insert_or_assign(path, std::string(*version));
  }

  // Nothing is known any more of what stands at this path.
  void forget(const std::string& path) {
    seen_.erase(path);
    absent_.erase(path);
  }

  // Nothing stands at this path. It is kept until something does: for names that come again.
  void learn_absence(const std::string& path) {
    seen_.erase(path);
    absent_.insert(path);
  }
  bool is_absent(const std::string& path) const { return absent_.contains(path); }

 private:
  std::map<std::string, std::string, std::less<>> seen_;
  std::set<std::string> absent_;
};

}  // namespace isthmus::providers::infra
