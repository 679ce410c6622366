#include "isthmus/infra/routes.h"

#include <gtest/gtest.h>

#include "isthmus/infra/api/openapi.h"

namespace isthmus::infra {
namespace {

using Operation = Route::Operation;
using Role = Caller::Role;
namespace problem = api::problem;

TEST(routes, every_operation_is_in_the_document) {
  for (int i = 0; i <= static_cast<int>(Operation::get_metrics); ++i) {
    std::string_view id = to_string(static_cast<Operation>(i));
    EXPECT_NE(api::openapi_json().find("\"" + std::string(id) + "\""), std::string_view::npos)
        << id;
  }
}

TEST(routes, a_path_and_method_name_an_operation_and_what_it_needs) {
  EXPECT_EQ(find_route("GET", "/v1")->operation, Operation::get_server_info);
  EXPECT_EQ(find_route("GET", "/v1/instances")->operation, Operation::list_instances);
  Route get = find_route("GET", "/v1/instances/m1").value();
  EXPECT_EQ(get.operation, Operation::get_instance);
  EXPECT_EQ(get.needs, Role::owner);
  EXPECT_EQ(get.uid, "m1");
  EXPECT_EQ(find_route("PUT", "/v1/instances/m1")->needs, Role::admin);
  EXPECT_EQ(find_route("DELETE", "/v1/instances/m1")->needs, Role::admin);
  EXPECT_EQ(find_route("GET", "/livez")->needs, Role::nobody);
  EXPECT_EQ(find_route("GET", "/v1/instances/%6d1")->uid, "m1");
}

TEST(routes, everything_else_is_not_found) {
  for (std::string_view path :
       {"/", "/v2", "/v1/", "/v1/instances/", "/v1/instances/a/b", "/v1/instance", "", "/livez/x",
        "/v1/owners/x", "/v1/owners//targetsets", "/v1/owners/x/loadbalancers/", "/v1/orphans/x"}) {
    auto route = find_route("GET", path);
    ASSERT_FALSE(route) << path;
    EXPECT_EQ(route.error().problem.suffix(), problem::path_not_found) << path;
  }
}

TEST(routes, a_method_the_path_does_not_have_is_answered_with_those_it_has) {
  auto route = find_route("POST", "/v1/instances/m1");
  EXPECT_EQ(route.error().problem.suffix(), problem::method_not_allowed);
  EXPECT_EQ(route.error().allow, "GET, PUT, DELETE");
}

TEST(routes, a_uid_that_cannot_be_one_is_an_invalid_request) {
  for (std::string_view uid : {"a%2Fb", "a%20b", "%", "%zz", "a%00", "-a"}) {
    auto route = find_route("GET", "/v1/instances/" + std::string(uid));
    ASSERT_FALSE(route) << uid;
    EXPECT_EQ(route.error().problem.suffix(), problem::invalid_request) << uid;
    EXPECT_EQ(route.error().problem.errors[0].pointer, "uid");
  }
}

TEST(routes, what_belongs_to_an_owner_has_two_names) {
  Route put = find_route("PUT", "/v1/owners/prod/loadbalancers/web").value();
  EXPECT_EQ(put.operation, Operation::put_load_balancer);
  EXPECT_EQ(put.needs, Role::owner);
  EXPECT_EQ(put.owner, "prod");
  EXPECT_EQ(put.name, "web");
  EXPECT_EQ(find_route("GET", "/v1/owners/prod/watch")->operation, Operation::watch_owner);
  EXPECT_EQ(find_route("GET", "/v1/pools/public")->name, "public");
  EXPECT_EQ(find_route("DELETE", "/v1/orphans/prod/web")->needs, Role::admin);
  EXPECT_EQ(find_route("POST", "/v1/owners/prod/targetsets/nodes").error().allow,
            "GET, PUT, DELETE");
}

TEST(routes, all_names_that_cannot_be_are_named_at_once) {
  auto route = find_route("PUT", "/v1/owners/Prod/loadbalancers/a%2F..%2Fb");
  const auto& errors = route.error().problem.errors;
  ASSERT_EQ(errors.size(), 2u);
  EXPECT_EQ(errors[0].pointer, "owner");
  EXPECT_EQ(errors[1].pointer, "name");
}

TEST(routes, an_owner_sees_its_own_and_an_admin_everything) {
  Route route = find_route("GET", "/v1/owners/prod/loadbalancers").value();
  EXPECT_FALSE(why_not_yours(route, {Role::owner, "prod", ""}));
  EXPECT_FALSE(why_not_yours(route, {Role::admin, "admin", ""}));
  EXPECT_EQ(why_not_yours(route, {Role::owner, "test", ""})->suffix(), problem::not_owner);
  EXPECT_FALSE(why_not_yours(find_route("GET", "/v1/pools").value(), {Role::owner, "test", ""}));
}

}  // namespace
}  // namespace isthmus::infra
