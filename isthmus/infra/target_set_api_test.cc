#include "isthmus/infra/target_set_api.h"

#include <gtest/gtest.h>

#include "isthmus/infra/object_api_testing.h"

namespace isthmus::infra {
namespace {

namespace problem = api::problem;

class target_set_api : public ObjectApiFixture {
 protected:
  net::Response put_set(std::string_view name, std::string_view address = "10.0.0.1") {
    return ask("PUT", set_path(name), set_body(address), {}, "owner-token");
  }
  net::Response use_set(std::string_view name) {
    return ask("PUT", path("web"),
               fmt::format(R"({{"spec":{{"pool":"public","listeners":[{{"port":80,)"
                           R"("targetGroup":"g"}}],"targetGroups":[{{"name":"g",)"
                           R"("targetSet":"{}","port":8080}}]}}}})",
                           name));
  }
  static api::TargetSet set_in(const net::Response& response) {
    Result<api::TargetSet> read = api::decode_target_set(response.body);
    EXPECT_TRUE(read) << response.body;
    return read.value_or(api::TargetSet{});
  }
};

TEST_F(target_set_api, a_set_is_created_changed_and_put_again_without_effect) {
  net::Response created = put_set("nodes");
  EXPECT_EQ(created.status, 201) << created.body;
  EXPECT_EQ(put_set("nodes").body, created.body);
  net::Response changed = put_set("nodes", "10.0.0.2");
  EXPECT_EQ(changed.status, 200);
  EXPECT_EQ(set_in(changed).metadata.generation, 2u);
  EXPECT_EQ(ask("GET", set_path("nodes")).body, changed.body);
  EXPECT_TRUE(log.mentions("kind=\"TargetSet\" owner=\"prod\" name=\"nodes\" generationBefore=1"));
}

TEST_F(target_set_api, a_set_that_is_used_says_by_how_many_and_stays) {
  put_set("nodes");
  EXPECT_EQ(use_set("nodes").status, 201);
  EXPECT_EQ(set_in(ask("GET", set_path("nodes"))).users, 1u);
  auto list = api::decode_target_set_list(ask("GET", "/v1/owners/prod/targetsets").body);
  EXPECT_EQ(list->items.at(0).users, 1u);
  EXPECT_EQ(suffix(ask("DELETE", set_path("nodes"))), problem::target_set_in_use);
  EXPECT_EQ(suffix(ask("DELETE", set_path("nodes") + "?dryRun=true")), problem::target_set_in_use);
}

TEST_F(target_set_api, a_set_that_nobody_uses_is_deleted_at_once) {
  put_set("nodes");
  EXPECT_EQ(parse_json(ask("DELETE", set_path("nodes") + "?dryRun=true").body)->at("effect"),
            "deleted");
  net::Response deleted = ask("DELETE", set_path("nodes"));
  EXPECT_EQ(deleted.status, 200);
  EXPECT_EQ(set_in(deleted).metadata.name, "nodes");
  EXPECT_EQ(suffix(ask("GET", set_path("nodes"))), problem::target_set_not_found);
  EXPECT_EQ(suffix(ask("DELETE", set_path("nodes"))), problem::target_set_not_found);
}

TEST_F(target_set_api, a_dry_run_names_the_differences) {
  put_set("nodes");
  json::value plan =
      parse_json(ask("PUT", set_path("nodes") + "?dryRun=true", set_body("10.0.0.2")).body).value();
  EXPECT_EQ(plan.at("effect"), "changed");
  EXPECT_EQ(plan.at("changes").as_array().size(), 1u);
  EXPECT_EQ(set_in(ask("GET", set_path("nodes"))).metadata.generation, 1u);
}

TEST_F(target_set_api, a_load_balancer_of_a_set_that_is_not_there_is_wrong) {
  EXPECT_EQ(suffix(use_set("nodes")), problem::invalid_spec);
}

}  // namespace
}  // namespace isthmus::infra
