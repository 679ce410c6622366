#include <gtest/gtest.h>

#include "isthmus/infra/http_api.h"
#include "isthmus/infra/object_api_testing.h"

namespace isthmus::infra {
namespace {

// What readiness says of the host.
class http_api_host : public ObjectApiFixture {
 protected:
  net::HttpHandler& served() override { return hosted; }

  std::string line() {
    const std::string text = ask("GET", "/readyz").body;
    const std::size_t at = text.find("] host");
    return at == std::string::npos ? text : text.substr(at - 2, text.find('\n', at) - at + 2);
  }
  void not_programmed(std::string_view reason) {
    auto snapshot = world.run(ledger.latest()).value();
    api::LoadBalancerStatus found;
    found.conditions = {{.type = "Programmed",
                         .status = api::ConditionStatus::is_false,
                         .reason = std::string(reason),
                         .message = "run as root: sysctl",
                         .last_transition = world.loop.wall_now(),
                         .observed_generation = 1}};
    ASSERT_TRUE(world.run(ledger.report({{{"prod", "web"}, found}})));
  }

  bool is_ready = true;
  std::vector<std::string> chains;
  HttpApi hosted{parts_with_a_host()};

 private:
  HttpApi::Parts parts_with_a_host() {
    HttpApi::Parts all = parts();
    all.host_is_ready = [this] { return is_ready; };
    all.dropping_chains = [this] { return chains; };
    return all;
  }
};

TEST_F(http_api_host, that_is_not_yet_as_it_should_be_is_not_ready) {
  is_ready = false;
  EXPECT_EQ(ask("GET", "/readyz").status, 503);
  is_ready = true;
  EXPECT_EQ(ask("GET", "/readyz").status, 200);
  EXPECT_EQ(line(), "[+] host");
}

TEST_F(http_api_host, that_keeps_packets_away_is_named_with_why) {
  ask("PUT", path("web"), body(), {}, "owner-token");
  not_programmed("AddressConflict");
  EXPECT_EQ(line(), "[+] host");
  not_programmed("ForwardingOff");
  EXPECT_EQ(line(),
            "[!] host: stands in the way of load balancers: 1 load balancer is not served: "
            "ForwardingOff, run as root: sysctl");
  EXPECT_EQ(ask("GET", "/readyz").status, 200);
  peer.is_local = false;
  EXPECT_EQ(line(), "[!] host: stands in the way of load balancers");
}

TEST_F(http_api_host, with_chains_of_others_is_well_and_names_them) {
  chains = {"ip filter FORWARD"};
  EXPECT_TRUE(line().starts_with("[+] host: ")) << line();
  EXPECT_TRUE(line().ends_with("targets: ip filter FORWARD")) << line();
  peer.is_local = false;
  EXPECT_EQ(line(), "[+] host");
}

}  // namespace
}  // namespace isthmus::infra
