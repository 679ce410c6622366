#include "isthmus/infra/config.h"

#include <gtest/gtest.h>

namespace isthmus::infra {
namespace {

using Lines = std::vector<std::string>;
using Kind = net::ListenAddress::Kind;

Lines mistakes_of(std::string_view text) {
  Mistakes mistakes;
  parse_config(text, "infra.yaml", mistakes);
  return mistakes.list();
}

constexpr std::string_view kLeast = "listen: [\"unix:/s\"]\nstore: {sqlite: /d}\n";

Lines mistakes_with(std::string_view more) {
  return mistakes_of(std::string(kLeast) + std::string(more));
}

TEST(config, says_everything) {
  Mistakes mistakes;
  Config config = parse_config(R"(
listen: ["unix:/run/isthmus/infra.sock", "https://0.0.0.0:10280", "http://127.0.0.1:10281"]
tls: {certFile: /c, keyFile: /k}
store: {sqlite: /var/lib/isthmus/infra.db}
inventory: /etc/isthmus/inventory.yaml
adminTokenFile: /a
host: {name: lb1, driver: announce}
owners: [{name: prod, tokenFile: /p}, {name: test, tokenFile: /t}]
)",
                               "infra.yaml", mistakes);
  ASSERT_EQ(mistakes.list(), Lines{});
  ASSERT_EQ(config.listen.size(), 3u);
  EXPECT_EQ(config.listen[0].kind, Kind::unix_socket);
  EXPECT_EQ(config.listen[0].host_or_path, "/run/isthmus/infra.sock");
  EXPECT_EQ(config.listen[1].port, 10280);
  EXPECT_EQ(config.tls->private_key, "/k");
  EXPECT_EQ(config.sqlite, "/var/lib/isthmus/infra.db");
  EXPECT_EQ(config.inventory, "/etc/isthmus/inventory.yaml");
  EXPECT_EQ(config.admin_token_file, "/a");
  EXPECT_EQ(config.owners[1].token_file, "/t");
  EXPECT_EQ(config.host->driver, HostConfig::Driver::announce);
}

TEST(config, may_say_little) { EXPECT_EQ(mistakes_with(""), Lines{}); }

TEST(config, all_mistakes_are_named_with_file_line_and_key) {
  EXPECT_EQ(
      mistakes_of("listen: [\"http://192.0.2.1:80\"]\n"
                  "lisen: []\n"
                  "store: {sqlit: /d}\n"
                  "host: {name: lb1, driver: xdp}\n"),
      (Lines{"infra.yaml: line 1: listen[0]: plain http is served on loopback only; use "
             "https, or a unix socket, found \"http://192.0.2.1:80\"",
             "infra.yaml: line 1: owners is required: without them the server is served on "
             "unix sockets only",
             "infra.yaml: line 2: unknown key \"lisen\"; did you mean listen?",
             "infra.yaml: line 3: store.sqlite is required",
             "infra.yaml: line 3: store: unknown key \"sqlit\"; did you mean sqlite?",
             "infra.yaml: line 4: host.driver: expected one of nft, announce, found \"xdp\""}));
}

TEST(config, nothing_is_listened_on_by_accident) {
  EXPECT_EQ(mistakes_of("listen: []\nstore: {sqlite: /d}\n").size(), 1u);
  EXPECT_EQ(mistakes_of("store: {sqlite: /d}\n").size(), 1u);
  EXPECT_EQ(mistakes_of("listen: [\"ftp://x\"]\nstore: {sqlite: /d}\n").size(), 1u);
  EXPECT_EQ(mistakes_of("listen: [\"unix:/s\", \"unix:/s\"]\nstore: {sqlite: /d}\n").size(), 1u);
}

TEST(config, https_and_tls_come_together) {
  std::string owners = "owners: [{name: a, tokenFile: /t}]\n";
  EXPECT_EQ(mistakes_of("listen: [\"https://[::1]:1\"]\nstore: {sqlite: /d}\n" + owners).size(),
            1u);
  EXPECT_EQ(mistakes_with("tls: {certFile: /c, keyFile: /k}\n").size(), 1u);
  EXPECT_EQ(mistakes_with("tls: {certFile: /c}\n").size(), 2u);
}

TEST(config, plain_http_is_loopback_only) {
  std::string rest = "store: {sqlite: /d}\nowners: [{name: a, tokenFile: /t}]\n";
  for (std::string host : {"127.0.0.1", "[::1]", "localhost"}) {
    EXPECT_EQ(mistakes_of("listen: [\"http://" + host + ":80\"]\n" + rest), Lines{}) << host;
  }
  for (std::string host : {"0.0.0.0", "[::]", "10.0.0.1", "example.org"}) {
    EXPECT_EQ(mistakes_of("listen: [\"http://" + host + ":80\"]\n" + rest).size(), 1u) << host;
  }
}

TEST(config, owners_can_be_told_apart) {
  EXPECT_EQ(mistakes_with("owners: [{name: a, tokenFile: /t}, {name: a, tokenFile: /u}]\n").size(),
            1u);
  EXPECT_EQ(mistakes_with("owners: [{name: a, tokenFile: /t}, {name: b, tokenFile: /t}]\n").size(),
            1u);
  EXPECT_EQ(mistakes_with("adminTokenFile: /t\nowners: [{name: a, tokenFile: /t}]\n").size(), 1u);
  EXPECT_EQ(mistakes_with("owners: [{name: A_b, tokenFile: /t}, {name: b}]\n").size(), 2u);
}

TEST(config, what_comes_later_is_refused_by_name) {
  Lines mistakes = mistakes_with(
      "owners: [{name: a, tokenFile: /t, pools: [public]}]\npools: [{name: public}]\n");
  ASSERT_EQ(mistakes.size(), 2u);
  EXPECT_EQ(mistakes[1], "infra.yaml: line 4: pools: is not offered by this version; take it out");
}

TEST(config, what_is_no_yaml_is_one_mistake) {
  EXPECT_EQ(mistakes_of("listen: [").size(), 1u);
  EXPECT_EQ(mistakes_of("just words").size(), 1u);
}

TEST(config, the_default_keeps_everything_in_one_folder) {
  Config config = default_config("/tmp/demo");
  EXPECT_EQ(config.listen[0].host_or_path, "/tmp/demo/infra.sock");
  EXPECT_EQ(config.sqlite, "/tmp/demo/infra.db");
  EXPECT_EQ(config.inventory, "/tmp/demo/inventory.yaml");
}

}  // namespace
}  // namespace isthmus::infra
