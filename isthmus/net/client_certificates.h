// Who a client is by its certificate.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "isthmus/base/clock.h"
#include "isthmus/base/result.h"

namespace isthmus::net {

// Of Kubernetes' meaning: the common name is the user, the organizations are the groups.
struct CertificateSubject {
  std::string common_name = {};
  std::vector<std::string> organizations = {};

  friend bool operator==(const CertificateSubject&, const CertificateSubject&) = default;
};

// The authorities whose word about clients counts. A value: copies share what was read.
class ClientAuthorities {
 public:
  // One or more PEM certificates; each of them is trusted by itself, intermediate ones too.
  // invalid: there is none, or one cannot be read.
  static Result<ClientAuthorities> parse(const std::string& pem);

  // Whom a chain (Peer::certificates of http_server.h) names. denied, with the reason: nobody here
  // has issued it, it is not valid at that time or not for clients, or it names nobody.
  Result<CertificateSubject> verify(const std::vector<std::string>& chain, WallTime now) const;

 private:
  struct Store;
  explicit ClientAuthorities(std::shared_ptr<const Store> store);

  std::shared_ptr<const Store> store_;
};

}  // namespace isthmus::net
