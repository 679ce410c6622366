// The disk as it is: the Files door of the real world. What each call promises is in base/files.h.
#pragma once

#include "isthmus/base/files.h"

namespace isthmus::net {

class PosixFiles final : public Files {
 public:
  Result<std::string> read(const std::string& path, std::size_t bytes_max) override;
  Result<> write(const std::string& path, std::string_view contents, FileMode mode) override;
  Result<FileStamp> stamp(const std::string& path) override;
  Result<> remove(const std::string& path) override;
};

}  // namespace isthmus::net
