#include "isthmus/infra/server.h"

#include <gtest/gtest.h>

#include "isthmus/base/virtual_world.h"
#include "isthmus/infra/api/instance.h"
#include "isthmus/infra/host_testing.h"
#include "isthmus/infra/http_testing.h"
#include "isthmus/infra/reconciler_testing.h"
#include "isthmus/net/temporary_directory_testing.h"

namespace isthmus::infra {
namespace {

using namespace std::chrono_literals;

class server : public ::testing::Test {
 protected:
  server() {
    config.sqlite = ":memory:";
    config.inventory = "/inventory";
    write("/inventory", "instances: [{uid: m1, name: n1}]");
  }
  void write(const std::string& path, std::string_view text) {
    ASSERT_TRUE(files.write(path, text, FileMode::owner_only));
  }
  Result<std::unique_ptr<Server>> open() {
    return open_server(config, "", {world.loop, random, files, metrics, log, host_doors()}, "1.2");
  }
  std::unique_ptr<Server> started() {
    auto opened = open().value();
    EXPECT_TRUE(world.run(opened->start()));
    return opened;
  }
  std::string get(Server& where, std::string target) {
    RecordingWriter writer;
    net::Request request{.method = "GET", .target = std::move(target), .headers = {}, .body = {}};
    net::Peer peer{.address = "unix", .is_local = true};
    EXPECT_TRUE(world.run(where.handler().serve(std::move(request), peer, writer)));
    return writer.response.body;
  }
  std::size_t machines(Server& where) {
    return api::decode_instance_list(get(where, "/v1/instances")).value().items.size();
  }
  void run_for(Server& where, Duration time) {
    EXPECT_EQ(world.run(with_timeout(time, where.run())).outcome(), Outcome::deadline);
  }

  HostDoors host_doors() {
    return {prober, 16, [this]() -> Result<std::unique_ptr<Host>> {
              return std::make_unique<infra::testing::FakeHost>(kernel);
            }};
  }

  VirtualWorld world;
  infra::testing::FakeKernel kernel;
  infra::testing::FakeProber prober;
  MemoryFiles files;
  MemoryLogger log;
  Metrics metrics;
  SeededRandom random{1};
  Config config;
};

TEST_F(server, serves_the_inventory_on_a_unix_socket_without_any_token) {
  auto running = started();
  EXPECT_EQ(machines(*running), 1u);
}

TEST_F(server, keeps_up_with_its_files_while_it_runs) {
  auto running = started();
  write("/inventory", "instances: [{uid: m1, name: n1}, {uid: m2, name: n2}]");
  run_for(*running, 2s);
  EXPECT_EQ(machines(*running), 2u);
}

TEST_F(server, reads_its_files_at_once_when_asked) {
  auto running = started();
  write("/inventory", "instances: [{uid: m1, name: n1}, {uid: m2, name: n2}]");
  running->reload();
  run_for(*running, 1ms);
  EXPECT_EQ(machines(*running), 2u);
}

TEST_F(server, all_mistakes_of_all_files_are_reported_before_the_store_is_made) {
  net::TemporaryDirectory directory;
  config.sqlite = directory.path("infra.db");
  config.admin_token_file = "/admin";
  config.owners = {{"prod", "/prod"}};
  config.tls = TlsFiles{"/cert", "/key"};
  write("/prod", "");
  write("/key", "no key");
  write("/inventory", "instances: [{uid: m1}, {uid: m1, name: Bad_Name}]");
  Result<std::unique_ptr<Server>> opened = open();
  ASSERT_EQ(opened.outcome(), Outcome::invalid);
  for (std::string_view part :
       {"/admin", "/prod: holds no token", "tls.certFile", "/cert",
        "/inventory: line 1:", "name is required", "Bad_Name", "uid m1 is already"}) {
    EXPECT_NE(opened.error().message.find(part), std::string::npos) << part << "\n"
                                                                    << opened.error().message;
  }
  EXPECT_TRUE(directory.is_empty());
}

TEST_F(server, without_an_inventory_file_machines_of_an_earlier_one_are_unknown) {
  net::TemporaryDirectory directory;
  config.sqlite = directory.path("infra.db");
  {
    auto first = started();
  }
  config.inventory.clear();
  auto second = started();
  EXPECT_EQ(api::decode_instance(get(*second, "/v1/instances/m1")).value().presence,
            api::Presence::unknown);
  EXPECT_EQ(get(*second, "/readyz"), "[+] store\n");
}

TEST_F(server, a_store_that_cannot_be_opened_is_an_error) {
  config.sqlite = "/no/such/folder/infra.db";
  EXPECT_EQ(open().outcome(), Outcome::lost);
}

TEST_F(server, measures_how_long_the_store_blocks) {
  auto running = started();
  std::string text = get(*running, "/metrics");
  EXPECT_NE(text.find("infra_store_call_duration_seconds_count{call=\"commit\"} 1"),
            std::string::npos);
}

}  // namespace
}  // namespace isthmus::infra
