#include "isthmus/app/serving.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <utility>

#include "isthmus/net/authority_testing.h"

namespace isthmus::app {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr WallTime kNow{1'767'225'600s};  // 2026-01-01T00:00:00Z
const CertificateFiles kPaths{"tls.crt", "tls.key"};

// A disk on which something happens between two reads.
class BusyFiles final : public Files {
 public:
  explicit BusyFiles(Files& next) : next_(next) {}
  Result<std::string> read(const std::string& path, std::size_t bytes_max) override {
    Result<std::string> text = next_.read(path, bytes_max);
    if (after_read) std::exchange(after_read, nullptr)();
    return text;
  }
  Result<> write(const std::string& path, std::string_view contents, FileMode mode) override {
    return next_.write(path, contents, mode);
  }
  Result<FileStamp> stamp(const std::string& path) override { return next_.stamp(path); }
  Result<> remove(const std::string& path) override { return next_.remove(path); }

  std::function<void()> after_read;  // Once.

 private:
  Files& next_;
};

class ServingTest : public testing::Test {
 protected:
  static ServingPair made() { return new_pair({"localhost", "127.0.0.1"}, kNow).value(); }
  void put(const net::ServerTls& tls) {
    put_file(kPaths.certificate, tls.certificate_pem);
    put_file(kPaths.private_key, tls.private_key_pem.reveal());
  }
  void put_file(const std::string& path, std::string_view contents) {
    EXPECT_TRUE(files.write(path, contents, FileMode::owner_only));
  }
  bool is_there(const std::string& path) { return files.stamp(path).has_value(); }

  MemoryFiles files;
};

TEST_F(ServingTest, a_pair_is_made_on_the_spot_and_lasts_a_year) {
  const ServingPair pair = made();
  EXPECT_TRUE(net::check(pair.tls));
  EXPECT_EQ(pair.term.end, kNow + 365 * 24h);
  EXPECT_TRUE(pair.term.is_self_made);
  EXPECT_EQ(pair.stamps, CertificateStamps{});
}

TEST_F(ServingTest, a_renewed_certificate_fits_the_key_that_is_there) {
  const ServingPair first = made();
  const ServingPair next = renew_pair(first, {"localhost"}, kNow + 300 * 24h).value();
  EXPECT_TRUE(net::check(net::ServerTls{next.tls.certificate_pem, first.tls.private_key_pem}));
  EXPECT_EQ(next.term.end, kNow + 665 * 24h);
}

TEST_F(ServingTest, the_error_names_the_file_that_is_missing_or_wrong) {
  const Result<ServingPair> missing = load_pair(files, kPaths);
  EXPECT_EQ(missing.outcome(), Outcome::absent);
  EXPECT_THAT(missing.error().message, HasSubstr("tls.crt"));

  put_file("tls.crt", made().tls.certificate_pem);
  put_file("tls.key", made().tls.private_key_pem.reveal());  // Of another pair.
  const Result<ServingPair> mismatched = load_pair(files, kPaths);
  EXPECT_EQ(mismatched.outcome(), Outcome::invalid);
  EXPECT_THAT(mismatched.error().message, HasSubstr("tls.key"));
}

TEST_F(ServingTest, a_pair_is_stamped_as_it_was_read) {
  put(made().tls);
  const ServingPair pair = load_pair(files, kPaths).value();
  EXPECT_EQ(pair.stamps, stamps_of(files, kPaths));
  put_file("tls.key", pair.tls.private_key_pem.reveal());
  EXPECT_NE(pair.stamps, stamps_of(files, kPaths));
}

TEST_F(ServingTest, a_secret_that_is_turned_over_between_two_reads_is_read_again) {
  put(made().tls);
  const ServingPair next = made();
  BusyFiles busy(files);
  busy.after_read = [&] { put(next.tls); };

  const Result<ServingPair> pair = load_pair(busy, kPaths);

  ASSERT_TRUE(pair) << pair.error().message;
  EXPECT_EQ(pair->tls.certificate_pem, next.tls.certificate_pem);
  EXPECT_EQ(pair->stamps, stamps_of(files, kPaths));
}

TEST_F(ServingTest, half_a_pair_of_somebody_else_is_none_of_ours_to_complete) {
  const auto issued = net::TestAuthority(kNow).issue({.common_name = "isthmus"});
  put_file("tls.crt", issued.pem);
  EXPECT_EQ(find_pair(files, kPaths).error().message, "tls.crt is there without tls.key");

  EXPECT_TRUE(files.remove("tls.crt"));
  put_file("tls.key", issued.key_pem.reveal());
  EXPECT_EQ(find_pair(files, kPaths).error().message, "tls.key is there without tls.crt");
}

TEST_F(ServingTest, a_pair_whose_writing_was_cut_short_counts_as_none) {
  EXPECT_FALSE(find_pair(files, kPaths).value().has_value());
  put_file("tls.crt", made().tls.certificate_pem);
  EXPECT_FALSE(find_pair(files, kPaths).value().has_value());
}

TEST_F(ServingTest, a_pair_that_cannot_be_written_whole_leaves_nothing_behind) {
  files.break_path("tls.key", Outcome::lost);  // The disk is full.
  EXPECT_EQ(write_pair(files, kPaths, made().tls).outcome(), Outcome::lost);
  EXPECT_FALSE(is_there("tls.crt"));

  files.break_path("tls.key", Outcome::ok);
  const ServingPair pair = made();
  EXPECT_TRUE(write_pair(files, kPaths, pair.tls));
  EXPECT_EQ(find_pair(files, kPaths).value()->tls.certificate_pem, pair.tls.certificate_pem);
}

}  // namespace
}  // namespace isthmus::app
