// Files: the disk as a door. Small files only (configuration, tokens, certificates, inventories):
// every call blocks the loop until it is done.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "isthmus/base/result.h"

namespace isthmus {

// Tells whether a file may have changed since an earlier look: equal stamps mean "the same, so far
// as anybody can know". Follows symbolic links, because Kubernetes updates mounted Secrets and
// ConfigMaps by turning one over.
struct FileStamp {
  std::int64_t modified_ns = 0;
  std::uint64_t size_bytes = 0;
  std::uint64_t identity = 0;  // The inode: a file replaced within one clock tick still differs.

  friend bool operator==(const FileStamp&, const FileStamp&) = default;
};

enum class FileMode {
  owner_only,      // 0600, for what holds a secret.
  world_readable,  // 0644
};

// Outcomes of all calls: absent (no such file or directory), denied (permissions), invalid (not a
// regular file, or larger than allowed), lost (anything else the system reports). Every message
// names the path.
class Files {
 public:
  virtual ~Files() = default;

  // The whole file; invalid when it is larger than bytes_max, which is read no further.
  virtual Result<std::string> read(const std::string& path, std::size_t bytes_max) = 0;

  // Replaces the file so that a reader, or a machine that loses power, sees the old contents or the
  // new and never a part. Directories are not created.
  virtual Result<> write(const std::string& path, std::string_view contents, FileMode mode) = 0;

  virtual Result<FileStamp> stamp(const std::string& path) = 0;

  // absent when there is none.
  virtual Result<> remove(const std::string& path) = 0;
};

// A disk for tests and the simulator: flat names, every write moves the stamp.
class MemoryFiles final : public Files {
 public:
  Result<std::string> read(const std::string& path, std::size_t bytes_max) override;
  Result<> write(const std::string& path, std::string_view contents, FileMode mode) override;
  Result<FileStamp> stamp(const std::string& path) override;
  Result<> remove(const std::string& path) override;

  // Every call for this path fails so until `ok` is set again; the contents are kept.
  void break_path(const std::string& path, Outcome outcome);

 private:
  struct Entry {
    std::string contents;
    FileStamp stamp;
  };
  Result<> usable(const std::string& path) const;

  std::map<std::string, Entry> entries_;
  std::map<std::string, Outcome> broken_;
  std::uint64_t writes_ = 0;
};

}  // namespace isthmus
