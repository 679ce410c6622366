// Noticing that a file was changed, for those who read it again then.
//
// The stamp is taken before the file is read. What is written in between is then read twice; the
// other way round it would never be read.
#pragma once

#include <optional>
#include <string>

#include "isthmus/base/files.h"

namespace isthmus {

// nullopt: there is none to be had, now. Differs from each that was.
inline std::optional<FileStamp> stamp_of(Files& files, const std::string& path) {
  Result<FileStamp> stamp = files.stamp(path);
  if (!stamp) return std::nullopt;
  return *stamp;
}

}  // namespace isthmus
