#include "isthmus/infra/unnamed_owners.h"

#include <gtest/gtest.h>

#include "isthmus/infra/object_api_testing.h"

namespace isthmus::infra {
namespace {

class unnamed_owners_test : public ObjectApiFixture {
 protected:
  std::optional<std::string> unnamed(std::vector<std::string> named) {
    Config config;
    for (std::string& name : named) config.owners.push_back({std::move(name), "/token"});
    const Access access(files, log, config);
    return unnamed_owners(*world.run(ledger.latest()).value(), access);
  }
  void put_as_admin(const std::string& owner, std::string_view name) {
    EXPECT_EQ(ask("PUT", path(name, owner), body()).status, 201) << owner;
  }
};

TEST_F(unnamed_owners_test, are_told_with_what_each_has) {
  EXPECT_EQ(unnamed({}), std::nullopt) << "nobody has anything";
  put_balancer("web");
  put_balancer("api");
  EXPECT_EQ(ask("PUT", set_path("nodes"), set_body(), {}, "owner-token").status, 201);
  put_as_admin("old", "shop");

  EXPECT_EQ(unnamed({"prod", "old"}), std::nullopt);
  EXPECT_EQ(unnamed({"prod"}), "old: 1 load balancer");
  EXPECT_EQ(unnamed({"new"}), "old: 1 load balancer; prod: 2 load balancers, 1 target set");
  EXPECT_EQ(unnamed({}), "old: 1 load balancer; prod: 2 load balancers, 1 target set")
      << "without owners only local is named";
}

TEST_F(unnamed_owners_test, are_forgotten_once_they_have_nothing) {
  EXPECT_EQ(ask("PUT", set_path("nodes"), set_body(), {}, "owner-token").status, 201);
  EXPECT_EQ(unnamed({"new"}), "prod: 1 target set");
  ask("DELETE", set_path("nodes"), "", {}, "owner-token");
  EXPECT_EQ(unnamed({"new"}), std::nullopt);
}

TEST_F(unnamed_owners_test, are_shown_by_readiness_to_who_is_on_the_machine) {
  put_as_admin("old", "shop");
  constexpr std::string_view kLine =
      "[+] owners: the configuration does not name all that have something here: old: 1 load "
      "balancer\n";
  EXPECT_TRUE(ask("GET", "/readyz").body.contains(kLine));
  peer = {.address = "192.0.2.7:4711", .is_local = false};
  EXPECT_FALSE(ask("GET", "/readyz").body.contains("old"));
}

}  // namespace
}  // namespace isthmus::infra
