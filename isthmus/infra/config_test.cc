#include "isthmus/infra/config.h"

#include <fmt/format.h>
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
  std::string longest(63, 'a');
  EXPECT_EQ(mistakes_with("owners: [{name: " + longest + ", tokenFile: /t}]\n"), Lines{});
  EXPECT_EQ(mistakes_with("owners: [{name: " + longest + ".a, tokenFile: /t}]\n").size(), 1u);
}

constexpr std::string_view kHost = "host: {name: lb1, driver: nft}\n";

Lines mistakes_of_pools(std::string_view pools) {
  return mistakes_with(std::string(kHost) + "pools:\n" + std::string(pools));
}

TEST(config, pools_say_everything_or_little) {
  Mistakes mistakes;
  Config config = parse_config(std::string(kLeast) + R"(
host: {name: lb1, driver: nft, probe: 50ms}
owners: [{name: prod, tokenFile: /p, pools: [public]}, {name: test, tokenFile: /t}]
pools:
- {name: public, ranges: [192.0.2.0/28, 2001:db8::/120], interface: eth0.7, coolDown: 1h,
   autoAssign: false, sourceAddress: keep}
- {name: office, ranges: [10.1.0.0/16]}
)",
                               "infra.yaml", mistakes);
  ASSERT_EQ(mistakes.list(), Lines{});
  EXPECT_EQ(config.host->probe, std::chrono::milliseconds(50));
  EXPECT_EQ(config.owners[0].pools, (PoolNames{"public"}));
  EXPECT_EQ(config.owners[1].pools, std::nullopt);
  ASSERT_EQ(config.pools.size(), 2u);
  const api::Pool& pool = config.pools[0];
  EXPECT_EQ(to_string(pool.ranges.at(1)), "2001:db8::/120");
  EXPECT_EQ(pool.interface, "eth0.7");
  EXPECT_EQ(pool.cool_down, std::chrono::hours(1));
  EXPECT_FALSE(pool.auto_assign);
  EXPECT_EQ(pool.source_address, api::SourceAddress::keep);
  api::Pool office;
  office.name = "office";
  office.ranges = {parse_prefix("10.1.0.0/16").value()};
  EXPECT_EQ(config.pools[1], office);
}

TEST(config, every_mistake_of_a_pool_is_named_by_line) {
  EXPECT_EQ(
      mistakes_of_pools("- {name: A_b, ranges: []}\n"
                        "- {name: b, ranges: [192.0.2.1/28, 192.0.2.0/33, 192.0.2.0]}\n"
                        "- {name: c, ranges: [\"::ffff:192.0.2.0/120\", 10.0.0.0/8]}\n"
                        "- {name: c, ranges: [10.1.0.0/16], coolDown: 0s}\n"
                        "- {name: d, ranges: [172.16.0.0/16], coolDown: 25h, interface: a/b}\n"
                        "- {name: e, autoAssign: perhaps, sourceAddress: mine, colour: red}\n"),
      (Lines{
          "infra.yaml: line 5: pools[0].name: expected a name: 1 to 63 lower-case letters, "
          "digits and '-', beginning and ending with a letter or digit, found \"A_b\"",
          "infra.yaml: line 5: pools[0].ranges: expected at least one range",
          "infra.yaml: line 6: pools[1].ranges[0]: \"192.0.2.1/28\" has bits set behind its prefix",
          "infra.yaml: line 6: pools[1].ranges[1]: \"192.0.2.0/33\" is not a prefix like "
          "192.0.2.0/24",
          "infra.yaml: line 6: pools[1].ranges[2]: \"192.0.2.0\" is not a prefix like 192.0.2.0/24",
          "infra.yaml: line 7: pools[2].ranges[0]: IPv4 addresses are written as such, not mapped "
          "to IPv6",
          "infra.yaml: line 8: pools[3].coolDown: expected a time above 0s and up to 24h, found "
          "\"0s\"",
          "infra.yaml: line 8: pools[3].name: is already the name of another pool, found \"c\"",
          "infra.yaml: line 8: pools[3].ranges[0]: overlaps 10.0.0.0/8 of pool c in line 7, found "
          "\"10.1.0.0/16\"",
          "infra.yaml: line 9: pools[4].interface: expected the name of an interface, found "
          "\"a/b\"",
          "infra.yaml: line 9: pools[4].coolDown: expected a time above 0s and up to 24h, found "
          "\"25h\"",
          "infra.yaml: line 10: pools[5].ranges is required",
          "infra.yaml: line 10: pools[5].autoAssign: expected true or false, found \"perhaps\"",
          "infra.yaml: line 10: pools[5].sourceAddress: expected one of masquerade, keep, found "
          "\"mine\"",
          "infra.yaml: line 10: pools[5]: unknown key \"colour\""}));
}

std::vector<std::string> prefixes_of(std::string_view range) {
  Mistakes mistakes;
  Config config = parse_config(
      fmt::format("{}{}pools: [{{name: a, ranges: [\"{}\"]}}]\n", kLeast, kHost, range),
      "infra.yaml", mistakes);
  std::vector<std::string> texts = mistakes.list();
  for (const IpPrefix& prefix : config.pools.at(0).ranges) texts.push_back(to_string(prefix));
  return texts;
}

TEST(config, a_range_between_two_addresses_is_its_prefixes) {
  EXPECT_EQ(prefixes_of("192.0.2.40-192.0.2.50"),
            (Lines{"192.0.2.40/29", "192.0.2.48/31", "192.0.2.50/32"}));
  EXPECT_EQ(prefixes_of("192.0.2.7 - 192.0.2.7"), (Lines{"192.0.2.7/32"}));
  EXPECT_EQ(prefixes_of("2001:db8::-2001:db8::ffff"), (Lines{"2001:db8::/112"}));
  EXPECT_EQ(prefixes_of("192.0.2.9-192.0.2.8"),
            (Lines{"infra.yaml: line 4: pools[0].ranges[0]: 192.0.2.9 does not come before "
                   "192.0.2.8"}));
  EXPECT_EQ(prefixes_of("192.0.2.9-2001:db8::").size(), 1u);
  EXPECT_EQ(prefixes_of("192.0.2.9-").size(), 1u);
  // More than a hundred prefixes, which every allocation would look at.
  EXPECT_EQ(
      prefixes_of("2001:db8::1-2001:db8:ffff:ffff:ffff:ffff:ffff:fffe").front(),
      "infra.yaml: line 4: pools[0].ranges: is made of 190 prefixes; at most 100 are allowed");
}

TEST(config, ranges_do_not_overlap_and_hold_what_can_be_somebodys) {
  EXPECT_EQ(mistakes_of_pools("- {name: a, ranges: [192.0.2.128/25]}\n"
                              "- {name: b, ranges: [192.0.2.0/24, 192.0.2.7/32, 192.0.3.0/24]}\n"
                              "- {name: c, ranges: [192.0.3.0/24, 127.0.0.8/32, \"::/0\"]}\n"),
            (Lines{"infra.yaml: line 6: pools[1].ranges[1]: overlaps 192.0.2.0/24 of pool b in "
                   "line 6, found \"192.0.2.7/32\"",
                   "infra.yaml: line 6: pools[1].ranges[0]: overlaps 192.0.2.128/25 of pool a in "
                   "line 5, found \"192.0.2.0/24\"",
                   "infra.yaml: line 7: pools[2].ranges[1]: 127.0.0.8/32 holds addresses of "
                   "127.0.0.0/8, which can be nobody's",
                   "infra.yaml: line 7: pools[2].ranges[2]: ::/0 holds addresses of ::/8, which "
                   "can be nobody's",
                   "infra.yaml: line 7: pools[2].ranges[0]: overlaps 192.0.3.0/24 of pool b in "
                   "line 6, found \"192.0.3.0/24\""}));
}

TEST(config, pools_need_a_host_and_owners_need_pools_that_are_there) {
  EXPECT_EQ(mistakes_with("pools: [{name: a, ranges: [192.0.2.0/24]}]\n"),
            (Lines{"infra.yaml: line 1: host is required: it is what holds the addresses of the "
                   "pools"}));
  EXPECT_EQ(mistakes_of_pools("- {name: a, ranges: [192.0.2.0/24]}\n"
                              "owners: [{name: x, tokenFile: /x, pools: [b, a, a]}]\n"),
            (Lines{"infra.yaml: line 6: owners[0].pools[0]: is not the name of a pool, found "
                   "\"b\"",
                   "infra.yaml: line 6: owners[0].pools[2]: is given twice, found \"a\""}));
  EXPECT_EQ(mistakes_with("host: {name: lb1, driver: nft, probe: 1m}\n").size(), 1u);
}

TEST(config, an_owner_routes_what_is_said_and_nothing_else) {
  Mistakes mistakes;
  Config config = parse_config(std::string(kLeast) +
                                   "host: {name: lb1, driver: nft}\n"
                                   "owners:\n"
                                   "- {name: a, tokenFile: /a, routes: {destinations: "
                                   "[10.244.0.0/16, \"fd00::/48\"]}}\n"
                                   "- {name: b, tokenFile: /b}\n",
                               "infra.yaml", mistakes);
  ASSERT_EQ(mistakes.list(), Lines{});
  EXPECT_EQ(*config.owners[0].destinations, (std::vector{parse_prefix("10.244.0.0/16").value(),
                                                         parse_prefix("fd00::/48").value()}));
  EXPECT_EQ(config.owners[1].destinations, std::nullopt);
}

TEST(config, every_mistake_of_what_an_owner_routes_is_named_by_line) {
  EXPECT_EQ(
      mistakes_with("owners:\n"
                    "- {name: a, tokenFile: /a, routes: {destinations: [10.244.0.1/16, "
                    "0.0.0.0/0, 10.1.0.0/16, 10.1.0.0/16], more: 1}}\n"
                    "- {name: b, tokenFile: /b, routes: {destinations: []}}\n"
                    "- {name: c, tokenFile: /c, routes: {}}\n"),
      (Lines{"infra.yaml: line 1: host is required: it is what packets are routed by",
             "infra.yaml: line 4: owners[0].routes.destinations[0]: " +
                 parse_prefix("10.244.0.1/16").error().message,
             "infra.yaml: line 4: owners[0].routes.destinations[1]: 0.0.0.0/0 holds addresses "
             "of 0.0.0.0/8, which can be nobody's",
             "infra.yaml: line 4: owners[0].routes.destinations[3]: is given twice, found "
             "\"10.1.0.0/16\"",
             "infra.yaml: line 4: owners[0].routes: unknown key \"more\"",
             "infra.yaml: line 5: owners[1].routes.destinations: expected at least one prefix",
             "infra.yaml: line 6: owners[2].routes.destinations is required"}));
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
