#include "isthmus/base/files.h"

#include <fmt/format.h>

namespace isthmus {

Result<std::string> MemoryFiles::read(const std::string& path, std::size_t bytes_max) {
  TRY(usable(path));
  const auto found = entries_.find(path);
  if (found == entries_.end()) return fail(Outcome::absent, path + ": no such file");
  if (found->second.contents.size() > bytes_max) {
    return fail(Outcome::invalid, fmt::format("{}: larger than {} bytes", path, bytes_max));
  }
  return found->second.contents;
}

Result<> MemoryFiles::write(const std::string& path, std::string_view contents, FileMode) {
  TRY(usable(path));
  ++writes_;
  entries_[path] =
      Entry{std::string(contents), FileStamp{.modified_ns = static_cast<std::int64_t>(writes_),
                                             .size_bytes = contents.size(),
                                             .identity = writes_}};
  return {};
}

Result<FileStamp> MemoryFiles::stamp(const std::string& path) {
  TRY(usable(path));
  const auto found = entries_.find(path);
  if (found == entries_.end()) return fail(Outcome::absent, path + ": no such file");
  return found->second.stamp;
}

Result<> MemoryFiles::remove(const std::string& path) {
  TRY(usable(path));
  if (entries_.erase(path) == 0) return fail(Outcome::absent, path + ": no such file");
  return {};
}

void MemoryFiles::break_path(const std::string& path, Outcome outcome) {
  if (outcome == Outcome::ok) {
    broken_.erase(path);
  } else {
    broken_[path] = outcome;
  }
}

Result<> MemoryFiles::usable(const std::string& path) const {
  const auto found = broken_.find(path);
  if (found == broken_.end()) return {};
  return fail(found->second, fmt::format("{}: {}", path, to_string(found->second)));
}

}  // namespace isthmus
