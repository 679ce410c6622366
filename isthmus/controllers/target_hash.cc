#include "isthmus/controllers/target_hash.h"

#include <cstdint>
#include <string_view>

#include <fmt/format.h>

namespace isthmus::controllers {
namespace {

__extension__ using Uint128 = unsigned __int128;

// FNV-1a of 128 bits. Every part goes in with its length, so that two lists of parts that read the
// same when written one behind the other are still two.
class Hash {
 public:
  void add(std::string_view part) {
    add_number(part.size());
    for (const char c : part) add_byte(static_cast<std::uint8_t>(c));
  }
  void add(const IpAddress& address) {
    add_number(address.size());
    for (std::size_t i = 0; i < address.size(); ++i) add_byte(address.bytes[i]);
  }
  void add_number(std::size_t number) {
    for (; number > 0x7f; number >>= 7) add_byte(static_cast<std::uint8_t>(number | 0x80));
    add_byte(static_cast<std::uint8_t>(number));
  }
  std::string text() const {
    return fmt::format("{:016x}{:016x}", static_cast<std::uint64_t>(state_ >> 64),
                       static_cast<std::uint64_t>(state_));
  }

 private:
  void add_byte(std::uint8_t byte) { state_ = (state_ ^ byte) * kPrime; }

  static constexpr Uint128 kPrime = (Uint128{1} << 88) + 0x13b;
  Uint128 state_ = (Uint128{0x6c62272e07bb0142} << 64) + 0x62b821756295c58d;
};

}  // namespace

std::string hash_of(const std::vector<cloud::Target>& targets) {
  Hash hash;
  for (const cloud::Target& target : targets) {
    hash.add(target.name);
    hash.add_number(target.addresses.size());
    for (const IpAddress& address : target.addresses) hash.add(address);
    hash.add(target.instance ? to_string(*target.instance) : "");
  }
  return hash.text();
}

}  // namespace isthmus::controllers
