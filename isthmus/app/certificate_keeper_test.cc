#include "isthmus/app/certificate_keeper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

#include "isthmus/base/virtual_world.h"
#include "isthmus/net/authority_testing.h"

namespace isthmus::app {
namespace {

using namespace std::chrono_literals;
using std::chrono::days;

// Remembers what it would serve.
class FakeServer final : public net::HttpServer {
 public:
  Task<Result<>> run() override { co_return Result<>{}; }
  std::uint16_t port() const override { return 0; }
  Result<> replace_certificate(net::ServerTls tls) override {
    served.push_back(std::move(tls));
    return {};
  }
  std::vector<net::ServerTls> served;
};

class CertificateKeeperTest : public testing::Test {
 protected:
  static constexpr Duration kYear = days(365);
  // The age at which, but for forty minutes, a third of a year and an hour is left.
  static constexpr Duration kAlmostDue = 5839h;

  ServingPair made(Duration ago = {}) { return new_pair({"localhost"}, now() - ago).value(); }
  // Somebody else's, which has a day of life and a minute.
  net::ServerTls issued(Duration life = days(1)) {
    const net::TestAuthority authority(now());
    auto one = authority.issue({.common_name = "isthmus", .life = life});
    return {.certificate_pem = one.pem, .private_key_pem = one.key_pem};
  }
  void put(const net::ServerTls& tls) {
    put_file(paths.certificate, tls.certificate_pem);
    put_file(paths.private_key, tls.private_key_pem.reveal());
  }
  void put_file(const std::string& path, std::string_view contents) {
    EXPECT_TRUE(files.write(path, contents, FileMode::owner_only));
  }
  std::string read(const std::string& path) { return files.read(path, 10'000).value_or(""); }
  // As a process starts: what is there is read, or made.
  Result<> start_in_directory() {
    const auto found = find_pair(files, paths).value();
    return start({.files = paths,
                  .is_made_there = true,
                  .names = {"localhost"},
                  .pair = found ? *found : made()});
  }
  Result<> start_with_files() {
    return start({.files = paths, .names = {}, .pair = load_pair(files, paths).value()});
  }
  Result<> start(ServingCertificate first) {
    keeper.emplace(files, world.loop, metrics, log, std::move(first));
    keeper->add(server);
    return keeper->start();
  }
  void pass(Duration duration) {
    Result<> ended = world.run(run_for(*keeper, duration));
    EXPECT_TRUE(ended);
  }
  static Task<Result<>> run_for(CertificateKeeper& keeper, Duration duration) {
    Scope& here = co_await current_scope();
    Scope scope(here);
    scope.spawn(&CertificateKeeper::run, &keeper);
    CO_TRY(co_await sleep_for(duration));
    co_return Result<>{};
  }

  WallTime now() { return world.loop.wall_now(); }
  WallTime end() { return net::term_of(keeper->tls().certificate_pem).value().end; }
  bool serves_what_is_on_disk() {
    return keeper->tls().certificate_pem == read(paths.certificate) &&
           keeper->tls().private_key_pem.reveal() == read(paths.private_key);
  }
  bool is_what_the_server_has() {
    return !server.served.empty() &&
           server.served.back().certificate_pem == keeper->tls().certificate_pem;
  }
  std::ptrdiff_t times_told(std::string_view text) {
    return std::ranges::count_if(log.lines, [text](const MemoryLogger::Line& line) {
      return line.text.find(text) != std::string::npos;
    });
  }

  // A disk that can be full, or read-only, or not be read for a while.
  class Disk final : public Files {
   public:
    Result<std::string> read(const std::string& path, std::size_t bytes_max) override {
      if (fail_reads != Outcome::ok) return fail(fail_reads, path + ": cannot be read");
      return kept.read(path, bytes_max);
    }
    Result<> write(const std::string& path, std::string_view contents, FileMode mode) override {
      if (fail_writes != Outcome::ok) return fail(fail_writes, path + ": cannot be written");
      if (mode == FileMode::owner_only) owner_only.push_back(path);
      return kept.write(path, contents, mode);
    }
    Result<FileStamp> stamp(const std::string& path) override { return kept.stamp(path); }
    Result<> remove(const std::string& path) override { return kept.remove(path); }

    MemoryFiles kept;
    Outcome fail_reads = Outcome::ok;
    Outcome fail_writes = Outcome::ok;
    std::vector<std::string> owner_only;
  };

  VirtualWorld world;
  Disk files;
  Metrics metrics;
  MemoryLogger log;
  FakeServer server;
  CertificateFiles paths{"ccm.crt", "ccm.key"};
  std::optional<CertificateKeeper> keeper;
};

TEST_F(CertificateKeeperTest, changed_files_are_served_without_a_restart) {
  put(made().tls);
  EXPECT_TRUE(start_with_files());
  const net::ServerTls next = made().tls;
  put(next);
  pass(1min);

  ASSERT_EQ(server.served.size(), 1u);
  EXPECT_EQ(server.served.front().certificate_pem, next.certificate_pem);
}

TEST_F(CertificateKeeperTest, files_that_stay_the_same_are_left_alone) {
  put(made().tls);
  EXPECT_TRUE(start_with_files());
  pass(10min);

  EXPECT_TRUE(server.served.empty());
  EXPECT_TRUE(log.lines.empty());
}

TEST_F(CertificateKeeperTest, a_bad_pair_leaves_the_old_one_in_place_and_is_logged_once) {
  put(made().tls);
  EXPECT_TRUE(start_with_files());
  put_file(paths.certificate, "not a certificate");
  pass(10min);

  EXPECT_TRUE(server.served.empty());
  ASSERT_EQ(log.lines.size(), 1u);
  EXPECT_TRUE(log.mentions("ccm.crt"));
}

TEST_F(CertificateKeeperTest, a_pair_that_is_complete_in_the_end_is_served) {
  put(made().tls);
  EXPECT_TRUE(start_with_files());
  const net::ServerTls next = made().tls;
  put_file(paths.certificate, next.certificate_pem);
  pass(1min);
  EXPECT_TRUE(server.served.empty());

  put_file(paths.private_key, next.private_key_pem.reveal());
  pass(1min);
  EXPECT_EQ(keeper->tls().certificate_pem, next.certificate_pem);
}

TEST_F(CertificateKeeperTest, files_that_could_not_be_read_are_read_when_they_can_be) {
  put(made().tls);
  EXPECT_TRUE(start_with_files());
  const net::ServerTls next = made().tls;
  put(next);
  files.fail_reads = Outcome::lost;  // No file descriptor is left.
  pass(10min);
  EXPECT_EQ(times_told("the old serving certificate stays"), 1);

  files.fail_reads = Outcome::ok;
  pass(1min);
  EXPECT_EQ(keeper->tls().certificate_pem, next.certificate_pem);
}

TEST_F(CertificateKeeperTest, a_pair_in_memory_is_made_anew_with_another_key_year_after_year) {
  EXPECT_TRUE(start({.names = {"localhost"}, .pair = made()}));
  const std::string first_key = keeper->tls().private_key_pem.reveal();
  for (int year = 0; year < 5; ++year) {
    world.driver.set_wall(now() + days(240));
    pass(1min);
    EXPECT_EQ(server.served.size(), static_cast<std::size_t>(year)) << "a third is left";
    world.driver.set_wall(now() + days(4));
    pass(1min);
    EXPECT_EQ(server.served.size(), static_cast<std::size_t>(year) + 1);
    EXPECT_GT(end(), now() + kYear - 1min);
  }
  EXPECT_NE(keeper->tls().private_key_pem.reveal(), first_key);
  EXPECT_TRUE(is_what_the_server_has());
}

TEST_F(CertificateKeeperTest, time_that_passes_is_enough_for_a_renewal) {
  EXPECT_TRUE(start({.names = {"localhost"}, .pair = made(kAlmostDue)}));
  pass(1h);
  EXPECT_EQ(server.served.size(), 1u);
}

TEST_F(CertificateKeeperTest, a_pair_that_is_not_valid_yet_was_made_by_a_wrong_clock) {
  EXPECT_TRUE(start({.names = {"localhost"}, .pair = made(-days(2))}));
  EXPECT_EQ(end(), now() + kYear);
  EXPECT_TRUE(is_what_the_server_has());
}

TEST_F(CertificateKeeperTest, a_directory_gets_its_pair_once_and_only_the_owner_reads_the_key) {
  EXPECT_TRUE(start_in_directory());
  EXPECT_TRUE(serves_what_is_on_disk());
  EXPECT_EQ(files.owner_only, std::vector{paths.private_key});
  const std::string certificate = read(paths.certificate);

  EXPECT_TRUE(start_in_directory());
  pass(10min);
  EXPECT_EQ(read(paths.certificate), certificate);
  EXPECT_TRUE(serves_what_is_on_disk());
}

TEST_F(CertificateKeeperTest,
       a_pair_of_ours_that_ended_while_we_were_away_is_renewed_at_the_start) {
  const ServingPair old = made(days(400));
  put(old.tls);
  EXPECT_TRUE(start_in_directory());

  EXPECT_EQ(end(), now() + kYear);
  EXPECT_TRUE(serves_what_is_on_disk());
  EXPECT_TRUE(is_what_the_server_has());
  EXPECT_EQ(read(paths.private_key), old.tls.private_key_pem.reveal()) << "they fit at any moment";
  EXPECT_EQ(times_told("serving certificate made"), 1);
  EXPECT_EQ(times_told("has ended"), 0);
}

TEST_F(CertificateKeeperTest,
       a_pair_of_ours_is_renewed_while_we_run_with_a_third_of_its_life_left) {
  put(made(kAlmostDue).tls);
  EXPECT_TRUE(start_in_directory());
  EXPECT_TRUE(server.served.empty());
  pass(1h);

  EXPECT_GT(end(), now() + kYear - 1h);
  EXPECT_TRUE(serves_what_is_on_disk());
  EXPECT_EQ(server.served.size(), 1u);
  EXPECT_EQ(times_told("serving certificate"), 1) << "our own writing is no change to follow";
}

TEST_F(CertificateKeeperTest,
       a_pair_of_somebody_else_is_left_alone_in_our_directory_and_told_once) {
  const net::ServerTls other = issued(6h);
  put(other);
  EXPECT_TRUE(start_in_directory());
  pass(4h + 30min);
  EXPECT_TRUE(log.lines.empty());
  pass(1h);
  EXPECT_EQ(times_told("the serving certificate ends soon"), 1);
  pass(12h);
  EXPECT_EQ(times_told("the serving certificate has ended"), 1);
  EXPECT_EQ(log.lines.size(), 2u);

  EXPECT_EQ(read(paths.certificate), other.certificate_pem);
  EXPECT_EQ(read(paths.private_key), other.private_key_pem.reveal());
  EXPECT_TRUE(serves_what_is_on_disk());
}

TEST_F(CertificateKeeperTest, an_ended_pair_of_somebody_else_is_served_and_told_at_the_start) {
  const net::ServerTls other = issued(-1h);
  put(other);
  EXPECT_TRUE(start_in_directory());
  EXPECT_EQ(times_told("the serving certificate has ended"), 1);
  EXPECT_EQ(read(paths.certificate), other.certificate_pem);
}

TEST_F(CertificateKeeperTest, files_that_were_named_are_never_written_whoever_made_them) {
  const ServingPair old = made(days(400));
  put(old.tls);
  EXPECT_TRUE(start_with_files());
  pass(1h);
  EXPECT_EQ(times_told("the serving certificate has ended"), 1);
  EXPECT_EQ(read(paths.certificate), old.tls.certificate_pem);
}

TEST_F(CertificateKeeperTest, the_metric_has_the_day_on_which_what_is_served_ends) {
  const auto expiration = [this] {
    return metrics
        .gauge("isthmus_serving_certificate_expiration_timestamp_seconds",
               "When the certificate that is served ends.")
        .value();
  };
  put(issued(6h));
  EXPECT_TRUE(start_with_files());
  const double first = static_cast<double>((now() + 6h).time_since_epoch() / 1s);
  EXPECT_EQ(expiration(), first);
  put(issued(8h));
  pass(1min);
  EXPECT_EQ(expiration(), first + 2 * 3600);
}

TEST_F(CertificateKeeperTest, without_a_place_to_write_a_new_pair_lives_in_memory) {
  files.fail_writes = Outcome::denied;
  EXPECT_TRUE(start_in_directory());
  pass(1h);
  EXPECT_EQ(times_told("cannot be written"), 1);
  EXPECT_EQ(end(), now() - 1h + kYear);

  files.fail_writes = Outcome::ok;
  pass(1min);
  EXPECT_TRUE(serves_what_is_on_disk());
}

TEST_F(CertificateKeeperTest, a_renewal_that_cannot_be_written_waits_and_then_lives_in_memory) {
  const ServingPair old = made(kYear - 1h);
  put(old.tls);
  files.fail_writes = Outcome::lost;  // The disk is full.
  EXPECT_TRUE(start_in_directory());
  EXPECT_TRUE(serves_what_is_on_disk()) << "those who trust the file can still connect";
  pass(2h);
  EXPECT_EQ(times_told("cannot be written"), 1);
  EXPECT_GT(end(), now() + kYear - 2h);
  EXPECT_EQ(read(paths.certificate), old.tls.certificate_pem);

  files.fail_writes = Outcome::ok;
  pass(1min);
  EXPECT_TRUE(serves_what_is_on_disk());
  EXPECT_EQ(read(paths.private_key), old.tls.private_key_pem.reveal());
}

TEST_F(CertificateKeeperTest,
       a_pair_that_was_ahead_of_the_clock_is_served_when_the_clock_is_right) {
  const ServingPair ahead = made(-days(2));
  put(ahead.tls);
  files.fail_writes = Outcome::denied;
  EXPECT_TRUE(start_in_directory());
  pass(1h);
  EXPECT_FALSE(serves_what_is_on_disk()) << "nobody could use it";
  pass(days(2));
  EXPECT_TRUE(serves_what_is_on_disk());
  EXPECT_TRUE(is_what_the_server_has());
  EXPECT_EQ(keeper->tls().certificate_pem, ahead.tls.certificate_pem);
  EXPECT_EQ(times_told("serving certificate made"), 1);
  EXPECT_EQ(times_told("serving certificate replaced"), 1);
}

TEST_F(CertificateKeeperTest, a_directory_that_is_not_there_is_an_error_at_the_start_only) {
  files.fail_writes = Outcome::absent;
  EXPECT_EQ(start_in_directory().outcome(), Outcome::absent);

  files.fail_writes = Outcome::ok;
  put(made(kAlmostDue).tls);
  EXPECT_TRUE(start_in_directory());
  files.fail_writes = Outcome::absent;
  pass(2h);
  EXPECT_TRUE(serves_what_is_on_disk());
}

TEST_F(CertificateKeeperTest, a_pair_that_somebody_put_there_takes_the_place_of_ours) {
  EXPECT_TRUE(start_in_directory());
  const net::ServerTls other = issued();
  put(other);
  pass(12h);
  EXPECT_EQ(keeper->tls().certificate_pem, other.certificate_pem);
  EXPECT_EQ(read(paths.certificate), other.certificate_pem);
}

TEST_F(CertificateKeeperTest, a_key_that_somebody_put_there_is_not_written_over) {
  put(made(kAlmostDue).tls);
  EXPECT_TRUE(start_in_directory());
  const net::ServerTls other = issued();
  put_file(paths.private_key, other.private_key_pem.reveal());
  pass(1h);
  EXPECT_EQ(read(paths.private_key), other.private_key_pem.reveal());
  EXPECT_EQ(times_told("the old serving certificate stays"), 1);
  EXPECT_EQ(times_told("cannot be written"), 1);
}

TEST_F(CertificateKeeperTest, a_pair_that_was_removed_is_served_until_it_is_renewed) {
  put(made(kAlmostDue).tls);
  EXPECT_TRUE(start_in_directory());
  EXPECT_TRUE(files.remove(paths.certificate));
  EXPECT_TRUE(files.remove(paths.private_key));
  pass(10min);
  EXPECT_EQ(times_told("was removed"), 1);
  pass(1h);
  EXPECT_TRUE(serves_what_is_on_disk());
  EXPECT_EQ(times_told("replaced"), 0);
}

TEST_F(CertificateKeeperTest, every_server_gets_what_takes_the_place_of_the_first) {
  FakeServer other;
  EXPECT_TRUE(start({.names = {"localhost"}, .pair = made(kAlmostDue)}));
  keeper->add(other);
  pass(1h);
  EXPECT_EQ(server.served.size(), 1u);
  EXPECT_EQ(other.served.size(), 1u);
}

}  // namespace
}  // namespace isthmus::app
