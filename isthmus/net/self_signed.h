// Certificates that vouch for themselves: signing one, telling it from everybody else's, and how
// long a certificate lasts, whoever made it.
#pragma once

#include <string>
#include <vector>

#include "isthmus/base/clock.h"
#include "isthmus/base/result.h"
#include "isthmus/base/secret.h"
#include "isthmus/net/tls.h"

namespace isthmus::net {

// What a certificate says of itself. A value. Times beyond the years of a WallTime are its ends.
struct CertificateTerm {
  WallTime begin;
  WallTime end;
  bool is_self_made = false;  // Made by self_sign, by whichever process: it carries our mark.

  friend bool operator==(const CertificateTerm&, const CertificateTerm&) = default;
};

// Of the first certificate in a PEM text. invalid: there is none, or its times cannot be read.
Result<CertificateTerm> term_of(const std::string& certificate_pem);

// A pair of this key and a certificate for it that is its own authority, so that a client may
// simply be given it to trust; valid from an hour before `now` for one year, for the given DNS
// names and IP addresses. invalid: the key cannot be used, or a name is neither.
Result<ServerTls> self_sign(Secret private_key_pem, const std::string& common_name,
                            const std::vector<std::string>& names, WallTime now);

}  // namespace isthmus::net
