// A directory of its own for each test, gone with everything in it when the test ends.
#pragma once

#include <dirent.h>
#include <stdlib.h>
#include <unistd.h>

#include <string>

#include "isthmus/base/result.h"

namespace isthmus::net {

// Short, because a unix socket's path must fit into 107 bytes. Holds files and sockets, no folders.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    ISTHMUS_ASSERT(::mkdtemp(path_.data()) != nullptr, "no temporary directory");
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory() {
    while (!is_empty()) {
      if (::unlink(path(first_entry()).c_str()) != 0) break;
    }
    ::rmdir(path_.c_str());
  }

  std::string path(const std::string& name) const { return path_ + "/" + name; }
  bool is_empty() const { return first_entry().empty(); }

 private:
  std::string first_entry() const {
    DIR* directory = ::opendir(path_.c_str());
    std::string name;
    while (const dirent* entry = directory == nullptr ? nullptr : ::readdir(directory)) {
      name = entry->d_name;
      if (name != "." && name != "..") break;
      name.clear();
    }
    if (directory != nullptr) ::closedir(directory);
    return name;
  }

  std::string path_ = "/tmp/isthmus-net-XXXXXX";
};

}  // namespace isthmus::net
