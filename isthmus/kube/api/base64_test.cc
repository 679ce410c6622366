#include "isthmus/kube/api/base64.h"

#include <gtest/gtest.h>

namespace isthmus::kube {
namespace {

TEST(base64, decodes_the_vectors_of_the_standard) {
  struct {
    const char* text;
    const char* bytes;
  } const table[] = {{"", ""},
                     {"Zg==", "f"},
                     {"Zm8=", "fo"},
                     {"Zm9v", "foo"},
                     {"Zm9vYg==", "foob"},
                     {"Zm9vYmE=", "fooba"},
                     {"Zm9vYmFy", "foobar"}};
  for (const auto& row : table) {
    const Result<std::string> bytes = decode_base64(row.text);
    ASSERT_TRUE(bytes.has_value()) << row.text << ": " << bytes.error().message;
    EXPECT_EQ(*bytes, row.bytes);
  }
}

TEST(base64, decodes_every_byte_and_skips_line_ends) {
  const Result<std::string> bytes = decode_base64("AP9+\r\n/w==\n");

  ASSERT_TRUE(bytes.has_value());
  EXPECT_EQ(*bytes, std::string("\x00\xff\x7e\xff", 4));
}

TEST(base64, refuses_what_is_not_exactly_base64) {
  for (const char* text :
       {"Z", "Zg", "Zg=", "Zm8", "Zg===", "====", "=", "Zm9v=", "Zm9vYg==Zg==", "Zm 9v", "Zm9_",
        "Zm9-", "Zh==", "Zm9=", "Zm9v\t", "ä", "-----BEGIN CERTIFICATE-----"}) {
    const Result<std::string> bytes = decode_base64(text);
    EXPECT_EQ(bytes.outcome(), Outcome::invalid) << text;
  }
}

}  // namespace
}  // namespace isthmus::kube
