#include "isthmus/infra/object_api.h"

#include <gtest/gtest.h>

#include "isthmus/infra/api/server_info.h"
#include "isthmus/infra/object_api_testing.h"

namespace isthmus::infra {
namespace {

using namespace std::chrono_literals;
namespace problem = api::problem;

class object_api : public ObjectApiFixture {
 protected:
  std::vector<api::WatchEvent> watch_for(Duration time, std::string target, std::string token) {
    RecordingWriter writer;
    net::Headers headers{{"Authorization", "Bearer " + token}};
    net::Request request{"GET", std::move(target), std::move(headers), ""};
    EXPECT_EQ(world.run(with_timeout(time, api.serve(std::move(request), peer, writer))).outcome(),
              Outcome::deadline);
    std::vector<api::WatchEvent> events;
    for (const std::string& line : writer.lines()) {
      events.push_back(api::decode_watch_event(line).value());
    }
    return events;
  }
};

TEST_F(object_api, a_server_with_a_host_says_what_it_offers) {
  api::ServerInfo info = api::decode_server_info(ask("GET", "/v1").body).value();
  EXPECT_TRUE(info.has(api::capability::load_balancers));
  EXPECT_TRUE(info.has(api::capability::target_sets));
}

TEST_F(object_api, readiness_waits_for_the_host_and_shows_a_configuration_that_was_not_loaded) {
  bool host_is_ready = false;
  std::optional<std::string> trouble = "infra.yaml: line 3: what is this?";
  HttpApi with_host{{.store = *store,
                     .instances = instances,
                     .access = owners,
                     .inventory = nullptr,
                     .random = random,
                     .metrics = metrics,
                     .log = log,
                     .version = "",
                     .ledger = &ledger,
                     .clock = &world.loop,
                     .host_is_ready = [&] { return host_is_ready; },
                     .config_trouble = [&] { return trouble; }}};
  auto readyz = [&] {
    RecordingWriter writer;
    EXPECT_TRUE(world.run(with_host.serve({"GET", "/readyz", {}, ""}, peer, writer)));
    return writer.response;
  };
  EXPECT_EQ(readyz().status, 503);
  EXPECT_NE(readyz().body.find("[-] host"), std::string::npos);
  EXPECT_NE(readyz().body.find("[!] configuration"), std::string::npos);
  EXPECT_NE(readyz().body.find("line 3"), std::string::npos);
  host_is_ready = true;
  trouble.reset();
  peer.is_local = false;
  EXPECT_EQ(readyz().status, 200);
  EXPECT_EQ(readyz().body, "[+] store\n[+] host\n");
}

TEST_F(object_api, an_owner_reaches_its_own_only_and_an_admin_all) {
  EXPECT_EQ(suffix(ask("PUT", path("web"), body(), {}, "test-token")), problem::not_owner);
  EXPECT_EQ(suffix(ask("GET", "/v1/owners/prod/watch?from=0", "", {}, "test-token")),
            problem::not_owner);
  EXPECT_EQ(ask("PUT", path("web", "test"), body(), {}, "admin-token").status, 201);
  EXPECT_EQ(ask("GET", path("web", "test"), "", {}, "test-token").status, 200);
}

TEST_F(object_api, a_watch_tells_what_a_list_did_not_know_yet) {
  put_balancer("web");
  auto list = api::decode_load_balancer_list(ask("GET", "/v1/owners/prod/loadbalancers").body);
  put_balancer("web", 81);
  auto events =
      watch_for(1s, fmt::format("/v1/owners/prod/watch?from={}", list->revision), "owner-token");
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].load_balancer->metadata.generation, 2u);
}

TEST_F(object_api, a_watch_from_a_history_that_is_gone_is_410) {
  put_balancer("web");
  put_balancer("web", 81);
  ASSERT_TRUE(world.run(store->compact(2)));
  EXPECT_EQ(suffix(ask("GET", "/v1/owners/prod/watch?from=1")), problem::revision_gone);
}

TEST_F(object_api, a_watch_of_machines_is_told_nothing_of_load_balancers) {
  put_balancer("web");
  EXPECT_TRUE(watch_for(1s, "/v1/watch?from=0", "owner-token").empty());
}

TEST_F(object_api, hostile_names_and_bodies_are_refused_with_their_problem) {
  EXPECT_EQ(suffix(ask("PUT", "/v1/owners/prod/loadbalancers/..%2F..%2Fx", body())),
            problem::invalid_request);
  EXPECT_EQ(suffix(ask("PUT", path("Web"), body())), problem::invalid_request);
  EXPECT_EQ(suffix(ask("PUT", path("web"), "[")), problem::invalid_request);
  EXPECT_EQ(suffix(ask("PUT", path("web"), body(65536))), problem::invalid_spec);
  EXPECT_EQ(suffix(ask("PUT", path("web") + "?force=true", body())), problem::invalid_request);
  EXPECT_EQ(suffix(ask("GET", path("web") + "?waitFor=Done")), problem::invalid_request);
}

}  // namespace
}  // namespace isthmus::infra
