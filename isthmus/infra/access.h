// Who asks: owners and the administrator, by bearer token.
//
// A token file holds one token a line, so that an old and a new one are both good while clients
// change over. The files are looked at every kTokenCheckPeriod and read again when they change; one
// that cannot be used then leaves its last good tokens in place and is logged. Nor can one be used
// with a token that somebody else has: whoever sent it could be either.
//
// Owners come, go and get other pools and destinations while the program runs: check() a new
// configuration, then replace(). Whoever stays keeps the tokens that were good.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "isthmus/base/clock.h"
#include "isthmus/base/files.h"
#include "isthmus/base/log.h"
#include "isthmus/base/mistakes.h"
#include "isthmus/base/result.h"
#include "isthmus/base/secret.h"
#include "isthmus/base/task.h"
#include "isthmus/infra/config.h"

namespace isthmus::infra {

inline constexpr Duration kTokenCheckPeriod = std::chrono::seconds(1);
inline constexpr std::size_t kTokensMax = 8;  // In one file.
inline constexpr std::size_t kTokenFileBytesMax = 64 * 1024;

// Who somebody is, and thereby what they may do.
struct Caller {
  enum class Role { nobody, owner, admin };
  Role role = Role::nobody;
  std::string name;  // The owner's; "admin"; "local" for whoever may open the unix socket.
  std::string why;   // Of nobody: what was missing, for people.
};

// The files door and the logger outlive it.
class Access {
 public:
  Access(Files& files, Logger& log, const Config& config);

  // Reads every token file; what is wrong with any of them is added. No message holds a token.
  void load(Mistakes& mistakes);

  // Reads every file again now, as keep_loaded() does those that change.
  void reload_all();

  // Reads the files again when they change. Ends with its scope only.
  Task<Result<>> keep_loaded();

  // Adds why the owners and the administrator of that configuration cannot be taken in: the token
  // file of somebody new cannot be used, or holds a token of somebody else. Nothing changes.
  void check(const Config& config, Mistakes& mistakes) const;

  // Those that the configuration names are the owners and the administrator from now on. Who has
  // the same name and file as before keeps their tokens without a look at the file. Somebody new
  // whose file cannot be used, which check() would have told, is locked out and in trouble until it
  // can be.
  void replace(const Config& config);

  // The pools that the owner may use; nullptr: all of them, as may an owner nobody has heard of,
  // for whom only an administrator writes. A later replace() leaves what was answered as it is.
  std::shared_ptr<const PoolNames> pools_of(std::string_view owner) const;

  // What the owner may route; nullptr: nothing, as for an owner nobody has heard of. A later
  // replace() leaves what was answered as it is.
  std::shared_ptr<const std::vector<IpPrefix>> destinations_of(std::string_view owner) const;

  // Whether the configuration names that owner; "local" is named while there are none.
  bool names(std::string_view owner) const;

  // The names of those whose file could not be used when it was last read.
  std::vector<std::string> in_trouble() const;

  // `authorization` is the header, if there was one. Takes as long for every wrong token. On a unix
  // socket nobody needs a token as long as there are no owners: the socket's file mode lets in whom
  // it lets in, as an owner named "local".
  Caller who(std::optional<std::string_view> authorization, bool on_unix_socket) const;

 private:
  struct Holder {
    Caller::Role role;
    std::string name;
    std::string file;
    std::shared_ptr<const PoolNames> pools = {};
    std::shared_ptr<const std::vector<IpPrefix>> destinations = {};
    std::vector<Secret> tokens = {};
    std::optional<std::vector<Secret>> fresh = {};  // Read from the file, and not yet taken over.
    std::optional<FileStamp> stamp = {};
    bool in_trouble = false;

    const std::vector<Secret>& next_tokens() const { return fresh ? *fresh : tokens; }
  };
  static std::vector<Holder> holders_of(const Config& config);
  std::vector<Holder> next_holders(const Config& config, Mistakes& mistakes) const;
  Result<std::vector<Secret>> read(const Holder& holder) const;
  bool look_at(Holder& holder);
  void read_fresh(Holder& holder);
  void refuse(Holder& holder, const Error& reason);
  void refuse_shared();
  void take_over();

  Files& files_;
  Logger& log_;
  std::vector<Holder> holders_;
  bool has_owners_;
};

}  // namespace isthmus::infra
