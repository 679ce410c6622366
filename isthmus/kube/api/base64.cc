#include "isthmus/kube/api/base64.h"

#include <fmt/format.h>

#include <array>
#include <cstdint>

namespace isthmus::kube {
namespace {

constexpr std::uint8_t kNoDigit = 64;

constexpr std::array<std::uint8_t, 256> make_digits() {
  constexpr std::string_view kAlphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::array<std::uint8_t, 256> digits{};
  digits.fill(kNoDigit);
  for (std::uint8_t value = 0; value < kAlphabet.size(); ++value) {
    digits[static_cast<unsigned char>(kAlphabet[value])] = value;
  }
  return digits;
}

constexpr std::array<std::uint8_t, 256> kDigits = make_digits();

std::unexpected<Error> not_base64(std::string_view why) {
  return fail(Outcome::invalid, fmt::format("is not base64: {}", why));
}

}  // namespace

Result<std::string> decode_base64(std::string_view text) {
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3 + 3);
  std::uint32_t bits = 0;  // What is not written yet, in the low end.
  unsigned bit_count = 0;  // Always below 8 between digits.
  std::size_t digits = 0;
  std::size_t padding = 0;
  for (std::size_t place = 0; place < text.size(); ++place) {
    const char c = text[place];
    if (c == '\n' || c == '\r') continue;
    if (c == '=') {
      ++padding;
      continue;
    }
    const std::uint8_t digit = kDigits[static_cast<unsigned char>(c)];
    if (digit == kNoDigit) return not_base64(fmt::format("character {} is none of it", place + 1));
    if (padding > 0) return not_base64("it goes on after its padding");
    ++digits;
    bits = bits << 6 | digit;
    bit_count += 6;
    if (bit_count >= 8) {
      bit_count -= 8;
      bytes += static_cast<char>(bits >> bit_count & 0xff);
      bits &= (1U << bit_count) - 1;
    }
  }
  if (digits % 4 == 1 || padding != (4 - digits % 4) % 4) return not_base64("it is cut short");
  if (bits != 0) return not_base64("its last character has bits too many");
  return bytes;
}

}  // namespace isthmus::kube
