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
  for (std::string_view path : {"/", "/v2", "/v1/", "/v1/instances/", "/v1/instances/a/b",
                                "/v1/instance", "", "/livez/x", "/v1/owners/x/loadbalancers"}) {
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

}  // namespace
}  // namespace isthmus::infra
