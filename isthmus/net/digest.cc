#include "isthmus/net/digest.h"

#include <openssl/evp.h>

#include "isthmus/base/result.h"

namespace isthmus::net {

std::string sha256(std::string_view text) {
  std::string digest(32, '\0');
  const int done =
      EVP_Digest(text.data(), text.size(), reinterpret_cast<unsigned char*>(digest.data()), nullptr,
                 EVP_sha256(), nullptr);
  ISTHMUS_ASSERT(done == 1, "SHA-256 cannot fail but for want of memory");
  return digest;
}

}  // namespace isthmus::net
