#include "isthmus/net/posix_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <limits>

namespace isthmus::net {
namespace {

// An open file; closed when it goes.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  bool is_open() const { return number_ >= 0; }
  int number() const { return number_; }

 private:
  int number_;
};

// What errno means for the caller, with the path in front.
std::unexpected<Error> fail_with_errno(const std::string& path) {
  const int error = errno;
  Outcome outcome = Outcome::lost;
  if (error == ENOENT || error == ENOTDIR) outcome = Outcome::absent;
  if (error == EACCES || error == EPERM || error == EROFS) outcome = Outcome::denied;
  if (error == EISDIR) outcome = Outcome::invalid;
  return fail(outcome, path + ": " + std::strerror(error));
}

Result<> write_all(int file, std::string_view contents, const std::string& path) {
  while (!contents.empty()) {
    const ssize_t bytes = ::write(file, contents.data(), contents.size());
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0) return fail_with_errno(path);
    contents.remove_prefix(static_cast<std::size_t>(bytes));
  }
  return {};
}

std::string directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// Fills the temporary file and makes sure that it is on the disk before it gets its name.
Result<> fill(int file, const std::string& path, std::string_view contents, FileMode mode) {
  const mode_t bits = mode == FileMode::owner_only ? 0600 : 0644;
  if (::fchmod(file, bits) != 0) return fail_with_errno(path);
  TRY(write_all(file, contents, path));
  if (::fsync(file) != 0) return fail_with_errno(path);
  return {};
}

}  // namespace

Result<std::string> PosixFiles::read(const std::string& path, std::size_t bytes_max) {
  bytes_max = std::min(bytes_max, std::numeric_limits<std::size_t>::max() - 1);
  // Without O_NONBLOCK, a FIFO that nobody writes to would hold the whole program.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.is_open()) return fail_with_errno(path);
  struct stat status{};
  if (::fstat(file.number(), &status) != 0) return fail_with_errno(path);
  if (!S_ISREG(status.st_mode)) return fail(Outcome::invalid, path + ": is not a regular file");

  // The size may be wrong (files under /proc say 0), so the end of file decides. One byte more than
  // allowed is read, to notice.
  std::string contents;
  const std::size_t expected = static_cast<std::size_t>(status.st_size) + 1;
  for (;;) {
    const std::size_t kept = contents.size();
    if (kept > bytes_max) {
      return fail(Outcome::invalid,
                  path + ": is larger than " + std::to_string(bytes_max) + " bytes");
    }
    const std::size_t piece = std::max<std::size_t>(expected > kept ? expected - kept : 0, 4096);
    contents.resize(kept + std::min(piece, bytes_max + 1 - kept));
    const ssize_t bytes = ::read(file.number(), contents.data() + kept, contents.size() - kept);
    if (bytes < 0 && errno != EINTR) return fail_with_errno(path);
    contents.resize(kept + static_cast<std::size_t>(std::max<ssize_t>(bytes, 0)));
    if (bytes == 0) return contents;
  }
}

Result<> PosixFiles::write(const std::string& path, std::string_view contents, FileMode mode) {
  std::string temporary = path + ".XXXXXX";
  const Descriptor file(::mkostemp(temporary.data(), O_CLOEXEC));
  if (!file.is_open()) return fail_with_errno(path);
  Result<> filled = fill(file.number(), path, contents, mode);
  if (filled && ::rename(temporary.c_str(), path.c_str()) != 0) filled = fail_with_errno(path);
  if (!filled) {
    ::unlink(temporary.c_str());
    return filled;
  }
  const std::string directory = directory_of(path);
  const Descriptor parent(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!parent.is_open() || ::fsync(parent.number()) != 0) return fail_with_errno(directory);
  return {};
}

Result<FileStamp> PosixFiles::stamp(const std::string& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return fail_with_errno(path);
  return FileStamp{
      .modified_ns = status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec,
      .size_bytes = static_cast<std::uint64_t>(status.st_size),
      .identity = status.st_ino,
  };
}

Result<> PosixFiles::remove(const std::string& path) {
  if (::unlink(path.c_str()) != 0) return fail_with_errno(path);
  return {};
}

}  // namespace isthmus::net
