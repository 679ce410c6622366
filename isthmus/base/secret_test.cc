#include "isthmus/base/secret.h"

#include <concepts>
#include <ostream>
#include <string>
#include <type_traits>
#include <utility>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "isthmus/base/log.h"

namespace isthmus {
namespace {

constexpr const char* kLong = "a token that is longer than a small string holds";

template <class T>
concept Streamable = requires(std::ostream& out, const T& value) { out << value; };
template <class T>
concept Loggable = requires(const T& value) { Field("key", value); };

TEST(secret, cannot_be_streamed_formatted_logged_or_converted) {
  static_assert(!Streamable<Secret>);
  static_assert(!fmt::is_formattable<Secret>::value);
  static_assert(!Loggable<Secret>);
  static_assert(!std::is_convertible_v<Secret, std::string>);
  static_assert(!std::is_convertible_v<Secret, std::string_view>);
  static_assert(!std::is_convertible_v<std::string, Secret>);
  static_assert(Streamable<int> && Loggable<int> && Loggable<std::string>);
}

TEST(secret, reveals_its_text_only_when_asked) {
  EXPECT_EQ(Secret(kLong).reveal(), kLong);
  EXPECT_EQ(Secret("short").reveal(), "short");
  EXPECT_TRUE(Secret().empty());
  EXPECT_FALSE(Secret("x").empty());
}

TEST(secret, is_a_value) {
  for (const char* text : {kLong, "short"}) {
    Secret first{std::string(text)};
    Secret copy = first;
    Secret moved = std::move(first);
    EXPECT_EQ(copy, moved);
    EXPECT_TRUE(first.empty());  // NOLINT: what is left of it is the point.
    copy = Secret("another");
    EXPECT_EQ(copy.reveal(), "another");
    copy = moved;
    copy = *&copy;
    EXPECT_EQ(copy.reveal(), text);
    moved = std::move(copy);
    EXPECT_EQ(moved.reveal(), text);
  }
}

TEST(secret, matches_only_the_whole_text) {
  const Secret secret("opensesame");
  EXPECT_TRUE(secret.matches("opensesame"));
  EXPECT_FALSE(secret.matches("opensesamf"));
  EXPECT_FALSE(secret.matches("xpensesame"));
  EXPECT_FALSE(secret.matches("opensesam"));
  EXPECT_FALSE(secret.matches(""));
  EXPECT_TRUE(Secret().matches(""));
}

// Looks at the memory of an object that is gone, which only a buffer of our own allows.
TEST(secret, wipes_its_memory_when_it_goes) {
  alignas(Secret) unsigned char memory[sizeof(Secret)];
  auto* secret = new (memory) Secret("small enough");
  const std::string_view held(reinterpret_cast<const char*>(memory), sizeof memory);
  EXPECT_NE(held.find("small enough"), std::string_view::npos);
  secret->~Secret();
  EXPECT_EQ(held.find("mall enoug"), std::string_view::npos);
}

}  // namespace
}  // namespace isthmus
