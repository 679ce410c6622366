#include "isthmus/infra/server.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>

#include "isthmus/base/virtual_world.h"
#include "isthmus/infra/api/instance.h"
#include "isthmus/infra/api/server_info.h"
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
  Result<std::unique_ptr<Server>> open(const std::string& path = "") {
    return open_server(config, path, {world.loop, random, files, metrics, log, &host_doors}, "1.2");
  }
  std::unique_ptr<Server> started(const std::string& path = "") {
    auto opened = open(path).value();
    EXPECT_TRUE(world.run(opened->start()));
    return opened;
  }
  net::Response ask(Server& where, net::Request request) {
    RecordingWriter writer;
    net::Peer peer{.address = "unix", .is_local = true};
    EXPECT_TRUE(world.run(where.handler().serve(std::move(request), peer, writer)));
    return writer.response;
  }
  std::string get(Server& where, std::string target) {
    return ask(where, {.method = "GET", .target = std::move(target), .headers = {}, .body = {}})
        .body;
  }
  std::size_t machines(Server& where) {
    return api::decode_instance_list(get(where, "/v1/instances")).value().items.size();
  }
  void run_for(Server& where, Duration time) {
    EXPECT_EQ(world.run(with_timeout(time, where.run())).outcome(), Outcome::deadline);
  }

  VirtualWorld world;
  infra::testing::FakeKernel kernel;
  infra::testing::FakeProber prober;
  const HostDoors host_doors{prober, 16, [this]() -> Result<std::unique_ptr<Host>> {
                               return std::make_unique<infra::testing::FakeHost>(kernel);
                             }};
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

TEST_F(server, calls_whoever_may_open_its_socket_local) {
  auto running = started();
  EXPECT_EQ(api::decode_server_info(get(*running, "/v1")).value().owner, "local");
}

TEST_F(server, keeps_up_with_its_files_while_it_runs) {
  auto running = started();
  write("/inventory", "instances: [{uid: m1, name: n1}, {uid: m2, name: n2}]");
  run_for(*running, 2s);
  EXPECT_EQ(machines(*running), 2u);
}

TEST_F(server, with_a_host_makes_true_what_is_put) {
  write("/proc/sys/net/ipv4/ip_forward", "1\n");
  write("/config",
        "listen: [unix:/s]\nstore: {sqlite: \":memory:\"}\ninventory: /inventory\n"
        "host: {name: lb1, driver: nft}\npools: [{name: public, ranges: [10.0.0.100/30]}]\n");
  Mistakes mistakes;
  config = parse_config(files.read("/config", kConfigBytesMax).value(), "/config", mistakes);
  ASSERT_TRUE(mistakes.empty()) << mistakes.text();
  auto running = started("/config");

  net::Response said = ask(*running, {.method = "PUT",
                                      .target = "/v1/owners/local/loadbalancers/web",
                                      .headers = {{"Content-Type", "application/json"}},
                                      .body = R"({"spec": {
      "listeners": [{"protocol": "TCP", "port": 80, "targetGroup": "web"}],
      "targetGroups": [{"name": "web", "targets": [{"address": "10.1.0.1", "port": 80}]}]}})"});
  run_for(*running, 2s);

  EXPECT_EQ(said.status, 201) << said.body;
  EXPECT_TRUE(kernel.has(infra::testing::kVip));
}

TEST_F(server, owners_that_are_not_named_any_more_are_told_with_what_they_have) {
  constexpr std::string_view kBasis =
      "listen: [unix:/s]\nstore: {sqlite: \":memory:\"}\ninventory: /inventory\n"
      "host: {name: lb1, driver: nft}\npools: [{name: public, ranges: [10.0.0.100/30]}]\n";
  write("/proc/sys/net/ipv4/ip_forward", "1\n");
  write("/prod", "prod-token");
  write("/config", kBasis);
  net::TemporaryDirectory directory;
  Mistakes mistakes;
  config = parse_config(kBasis, "/config", mistakes);
  ASSERT_TRUE(mistakes.empty()) << mistakes.text();
  config.sqlite = directory.path("infra.db");
  auto running = started("/config");
  const net::Response said = ask(*running, {.method = "PUT",
                                            .target = "/v1/owners/local/loadbalancers/web",
                                            .headers = {{"Content-Type", "application/json"}},
                                            .body = R"({"spec": {
      "listeners": [{"protocol": "TCP", "port": 80, "targetGroup": "web"}],
      "targetGroups": [{"name": "web", "targets": [{"address": "10.1.0.1", "port": 80}]}]}})"});
  ASSERT_EQ(said.status, 201) << said.body;
  run_for(*running, 2s);
  EXPECT_FALSE(log.mentions("does not name"));

  write("/config", std::string(kBasis) + "owners: [{name: prod, tokenFile: /prod}]\n");
  run_for(*running, 2s);
  EXPECT_TRUE(log.mentions("does not name have something here"));
  EXPECT_TRUE(log.mentions("owners=\"local: 1 load balancer\""));
  EXPECT_NE(get(*running, "/readyz").find("something here: local: 1 load balancer\n"),
            std::string::npos);

  running.reset();
  log.lines.clear();
  config.owners = {{"prod", "/prod"}};
  running = started("/config");
  run_for(*running, 2s);
  EXPECT_EQ(std::ranges::count_if(log.lines,
                                  [](const auto& line) {
                                    return line.text.find("owners=\"local: 1 load balancer\"") !=
                                           std::string::npos;
                                  }),
            1)
      << "told once at the start";
}

TEST_F(server, tells_whose_token_is_refused_and_shows_no_token) {
  write("/prod", "prod-token");
  config.owners = {{"prod", "/prod"}};
  auto running = started();
  for (int i = 0; i < 3; ++i) {
    net::Request request{.method = "GET", .target = "/v1/instances", .headers = {}, .body = {}};
    request.headers.add("Authorization", "Bearer wrong-token");
    EXPECT_EQ(ask(*running, std::move(request)).status, 401);
  }
  ASSERT_TRUE(log.mentions("a caller was turned away"));
  EXPECT_TRUE(log.mentions("remote=\"unix\" reason=\"the token is not known\""));
  EXPECT_FALSE(log.mentions("wrong-token"));
  EXPECT_FALSE(log.mentions("not_told_before=1"));
}

TEST_F(server, readiness_names_what_of_the_configuration_waits_for_a_restart) {
  constexpr std::string_view kFile =
      "listen: [unix:/s]\nstore: {sqlite: \":memory:\"}\ninventory: /inventory\n";
  write("/config", kFile);
  Mistakes mistakes;
  config = parse_config(kFile, "/config", mistakes);
  ASSERT_TRUE(mistakes.empty()) << mistakes.text();
  auto running = started("/config");
  EXPECT_EQ(get(*running, "/readyz"), "[+] store\n[+] inventory\n");
  write("/config", "listen: [unix:/t]\nstore: {sqlite: /d}\ninventory: /inventory\n");
  run_for(*running, 2s);
  EXPECT_EQ(get(*running, "/readyz"),
            "[+] store\n[+] inventory\n"
            "[!] configuration: loaded, but part of it waits for a restart: listen store\n");
  write("/config", kFile);
  run_for(*running, 2s);
  EXPECT_EQ(get(*running, "/readyz"), "[+] store\n[+] inventory\n");
}

TEST_F(server, a_store_whose_file_is_gone_takes_nothing_and_readiness_says_so) {
  net::TemporaryDirectory directory;
  config.sqlite = directory.path("infra.db");
  auto running = started();
  ASSERT_EQ(::unlink(config.sqlite.c_str()), 0);
  write("/inventory", "instances: [{uid: m1, name: n1}, {uid: m2, name: n2}]");
  run_for(*running, 2s);
  EXPECT_EQ(machines(*running), 1u);
  const std::string ready = get(*running, "/readyz");
  EXPECT_NE(ready.find("[!] store: answers, but the last write failed: "), std::string::npos);
  EXPECT_NE(ready.find("was removed or replaced"), std::string::npos) << ready;
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

TEST_F(server, forgets_a_history_that_is_old_and_keeps_what_stands) {
  write("/inventory", "instances: [{uid: m1, name: n1}, {uid: m2, name: n2}]");
  auto running = started();
  const auto first = api::decode_instance_list(get(*running, "/v1/instances?limit=1")).value();
  auto is_gone = [&] {
    const std::string page = get(*running, "/v1/instances?continue=" + first.continue_token);
    return page.find("revision-gone") != std::string::npos;
  };
  write("/inventory", "instances: [{uid: m1, name: n1}, {uid: m2, name: n3}]");
  run_for(*running, kHistoryAge);
  EXPECT_FALSE(is_gone());
  run_for(*running, kHistoryAge + 2 * kCompactionPeriod);
  EXPECT_TRUE(is_gone());
  EXPECT_EQ(machines(*running), 2u);
}

TEST_F(server, measures_how_long_the_store_blocks) {
  auto running = started();
  std::string text = get(*running, "/metrics");
  EXPECT_NE(text.find("infra_store_call_duration_seconds_count{call=\"commit\"} 1"),
            std::string::npos);
}

TEST_F(server, the_address_of_a_machine_is_given_to_no_load_balancer) {
  constexpr std::string_view kFile =
      "listen: [unix:/s]\nstore: {sqlite: \":memory:\"}\ninventory: /inventory\n"
      "host: {name: lb1, driver: nft}\npools: [{name: public, ranges: [10.0.0.100/31]}]\n";
  write("/proc/sys/net/ipv4/ip_forward", "1\n");
  write("/config", kFile);
  write("/inventory",
        "instances: [{uid: m1, name: n1, addresses: [{type: InternalIP, address: 10.0.0.100}]}]");
  Mistakes mistakes;
  config = parse_config(kFile, "/config", mistakes);
  ASSERT_TRUE(mistakes.empty()) << mistakes.text();
  auto running = started("/config");
  net::Response said = ask(*running, {.method = "PUT",
                                      .target = "/v1/owners/local/loadbalancers/web",
                                      .headers = {{"Content-Type", "application/json"}},
                                      .body = R"({"spec": {"addresses": ["10.0.0.100"],
      "listeners": [{"protocol": "TCP", "port": 80, "targetGroup": "web"}],
      "targetGroups": [{"name": "web", "targets": [{"address": "10.1.0.1", "port": 80}]}]}})"});
  EXPECT_EQ(said.status, 409) << said.body;
  EXPECT_NE(said.body.find("10.0.0.100 is the address of machine n1"), std::string::npos)
      << said.body;
}

}  // namespace
}  // namespace isthmus::infra
