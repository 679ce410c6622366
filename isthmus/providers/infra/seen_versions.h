// The versions of objects as the server last told us, for the preconditions of what we write.
#pragma once

#include <map>
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
    const auto version = response.headers.find("ETag");
    if (response.status < 200 || response.status >= 300 || !version) return;
    seen_.insert_or_assign(path, std::string(*version));
  }

  // It is gone.
  void forget(const std::string& path) { seen_.erase(path); }

 private:
  std::map<std::string, std::string, std::less<>> seen_;
};

}  // namespace isthmus::providers::infra
