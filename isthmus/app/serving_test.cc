#include "isthmus/app/serving.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "isthmus/base/virtual_world.h"

namespace isthmus::app {
namespace {

using std::chrono::minutes;
using testing::HasSubstr;

// Remembers which certificate it would serve.
class FakeServer final : public net::HttpServer {
 public:
  Task<Result<>> run() override { co_return Result<>{}; }
  std::uint16_t port() const override { return 0; }
  Result<> replace_certificate(net::ServerTls tls) override {
    served.push_back(tls.certificate_pem);
    return {};
  }
  std::vector<std::string> served;
};

class ServingTest : public testing::Test {
 protected:
  net::ServerTls pair() {
    Result<net::ServerTls> made = net::make_self_signed("test", {"localhost"}, now());
    EXPECT_TRUE(made.has_value());
    return *made;
  }
  void put(const net::ServerTls& tls) {
    put_file("tls.crt", tls.certificate_pem);
    put_file("tls.key", tls.private_key_pem.reveal());
  }
  void put_file(const std::string& path, std::string_view contents) {
    EXPECT_TRUE(files.write(path, contents, FileMode::owner_only).has_value());
  }
  // The files are watched for ten minutes, in the middle of which `change` happens.
  void watch_while(std::function<void()> change) {
    if (!stamps.front()) stamps = stamps_of(files, paths);
    Result<> watched = world.run(run_watch(*this, std::move(change)));
    EXPECT_TRUE(watched.has_value());
  }
  static Task<Result<>> run_watch(ServingTest& test, std::function<void()> change) {
    Scope& here = co_await current_scope();
    Scope scope(here);
    scope.spawn(keep_certificate_fresh, std::ref(test.files), std::ref(test.world.loop), test.paths,
                test.stamps, std::vector<std::string>{"localhost"}, std::ref(test.server),
                std::ref(test.log));
    CO_TRY(co_await sleep_for(minutes(5)));
    change();
    CO_TRY(co_await sleep_for(minutes(5)));
    co_return Result<>{};
  }
  WallTime now() { return world.loop.wall_now(); }

  VirtualWorld world;
  MemoryFiles files;
  MemoryLogger log;
  FakeServer server;
  CertificateFiles paths{"tls.crt", "tls.key"};
  CertificateStamps stamps;  // Of the pair that is served first; none: of that which is there.
};

TEST_F(ServingTest, a_pair_is_made_on_the_spot_where_no_file_is_named) {
  Result<net::ServerTls> made = load_certificate(files, {}, {"localhost", "127.0.0.1"}, now());

  ASSERT_TRUE(made.has_value());
  EXPECT_TRUE(net::check(*made).has_value());
}

TEST_F(ServingTest, the_error_names_the_file_that_is_missing_or_wrong) {
  Result<net::ServerTls> missing = load_certificate(files, paths, {}, now());
  EXPECT_EQ(missing.outcome(), Outcome::absent);
  EXPECT_THAT(missing.error().message, HasSubstr("tls.crt"));

  put_file("tls.crt", pair().certificate_pem);
  put_file("tls.key", pair().private_key_pem.reveal());  // Of another pair.
  Result<net::ServerTls> mismatched = load_certificate(files, paths, {}, now());
  EXPECT_EQ(mismatched.outcome(), Outcome::invalid);
  EXPECT_THAT(mismatched.error().message, HasSubstr("tls.key"));
}

TEST_F(ServingTest, changed_files_are_served_without_a_restart) {
  put(pair());
  const net::ServerTls next = pair();
  watch_while([&] { put(next); });

  ASSERT_EQ(server.served.size(), 1u);
  EXPECT_EQ(server.served.front(), next.certificate_pem);
}

TEST_F(ServingTest, files_that_changed_between_loading_and_serving_are_served_as_well) {
  put(pair());
  stamps = stamps_of(files, paths);
  const net::ServerTls next = pair();
  put(next);
  watch_while([] {});

  ASSERT_EQ(server.served.size(), 1u);
  EXPECT_EQ(server.served.front(), next.certificate_pem);
}

TEST_F(ServingTest, a_bad_pair_leaves_the_old_one_in_place_and_is_logged_once) {
  put(pair());
  watch_while([&] { put_file("tls.crt", "not a certificate"); });

  EXPECT_TRUE(server.served.empty());
  EXPECT_EQ(log.lines.size(), 1u);
  EXPECT_TRUE(log.mentions("tls.crt"));
}

TEST_F(ServingTest, files_that_stay_the_same_are_left_alone) {
  put(pair());
  watch_while([] {});

  EXPECT_TRUE(server.served.empty());
  EXPECT_TRUE(log.lines.empty());
}

}  // namespace
}  // namespace isthmus::app
