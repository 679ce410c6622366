// The certificate and key of a server of ours as values: read from files, or made on the spot, and
// written where they belong. Who follows and renews them is certificate_keeper.h.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "isthmus/base/clock.h"
#include "isthmus/base/files.h"
#include "isthmus/base/result.h"
#include "isthmus/net/self_signed.h"
#include "isthmus/net/tls.h"

namespace isthmus::app {

// Both empty: the pair lives in memory.
struct CertificateFiles {
  std::string certificate;
  std::string private_key;

  bool empty() const { return certificate.empty() && private_key.empty(); }
};

// By which a change of the files is noticed.
using CertificateStamps = std::array<std::optional<FileStamp>, 2>;
CertificateStamps stamps_of(Files& files, const CertificateFiles& paths);

struct ServingPair {
  net::ServerTls tls;
  net::CertificateTerm term;
  CertificateStamps stamps = {};  // Of the files it was read from, taken before; none: it was made.
};

// Reads and checks the pair. Files that change meanwhile are read again, because a mounted Secret
// is turned over between any two reads. The error names the file: absent, denied or lost when it
// cannot be read, invalid when the two are no pair.
Result<ServingPair> load_pair(Files& files, const CertificateFiles& paths);

// A new pair, with a key of its own, for these names.
Result<ServingPair> new_pair(const std::vector<std::string>& names, WallTime now);

// A certificate for the key of a pair that we made, as good as a new one.
Result<ServingPair> renew_pair(const ServingPair& pair, const std::vector<std::string>& names,
                               WallTime now);

// The pair in a directory where we make one if there is none. nullopt: there is none; what
// write_pair leaves when it is cut short counts as none. Errors are those of load_pair; invalid as
// well when one file is there without the other.
Result<std::optional<ServingPair>> find_pair(Files& files, const CertificateFiles& paths);

// Writes a pair where there is none, the key with mode 0600. The certificate comes first, because a
// certificate alone can be recognized as ours and a key alone cannot. On an error nothing is left
// behind, as far as possible.
Result<> write_pair(Files& files, const CertificateFiles& paths, const net::ServerTls& tls);

}  // namespace isthmus::app
