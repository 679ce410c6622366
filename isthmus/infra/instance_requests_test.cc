#include "isthmus/infra/instance_requests.h"

#include <gtest/gtest.h>

namespace isthmus::infra {
namespace {

namespace problem = api::problem;

TEST(instance_body, is_read_or_refused_for_one_clear_reason) {
  auto of = [](std::string body, std::string type) {
    net::Request request;
    request.headers.add("Content-Type", std::move(type));
    request.body = std::move(body);
    auto read = read_instance_body(request, "m1");
    return std::string(read ? "" : read.error().suffix());
  };
  std::string good = R"({"metadata":{"name":"n"}})";
  EXPECT_EQ(of(good, "application/json"), "");
  EXPECT_EQ(of(good, "Application/JSON; charset=utf-8"), "");
  EXPECT_EQ(of(good, "text/plain"), problem::unsupported_media);
  EXPECT_EQ(of("{", "application/json"), problem::invalid_request);
  EXPECT_EQ(of("{}", "application/json"), problem::invalid_spec);
  EXPECT_EQ(of(std::string(kInstanceBodyMax + 1, ' '), "application/json"),
            problem::body_too_large);
}

}  // namespace
}  // namespace isthmus::infra
