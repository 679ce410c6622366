#include "isthmus/app/status_report.h"

#include <gtest/gtest.h>

#include <map>

#include "isthmus/base/json.h"
#include "isthmus/base/virtual_world.h"
#include "isthmus/infra/api/owner.h"
#include "isthmus/infra/api/problem.h"

namespace isthmus::app {
namespace {

namespace api = infra::api;

// Answers what a test has laid ready, by path, and 404 as a proxy would for all else.
class CannedTransport final : public net::Transport {
 public:
  Task<Result<net::Response>> call(net::Request request) override {
    token = std::string(request.headers.find("Authorization").value_or(""));
    auto found = answers.find(request.target);
    if (found == answers.end()) co_return net::Response{404, {}, "<html>"};
    co_return found->second;
  }
  Task<Result<net::StreamedResponse>> open(net::Request) override {
    co_return fail(Outcome::unsupported, "no streams here");
  }
  void refuse(const std::string& target, std::string_view suffix) {
    api::Problem problem = api::make_problem(suffix, "for a reason");
    answers[target] = {problem.status, {}, encode(problem)};
  }

  std::map<std::string, net::Response> answers;
  std::string token;
};

api::LoadBalancer a_balancer(std::string owner, std::string name) {
  api::LoadBalancer balancer;
  balancer.metadata.owner = std::move(owner);
  balancer.metadata.name = std::move(name);
  balancer.metadata.uid = "u1";
  balancer.metadata.generation = 7;
  balancer.spec.families = {IpFamily::v4};
  balancer.status.conditions = {{.type = std::string(api::condition::ready),
                                 .status = api::ConditionStatus::is_true,
                                 .reason = "Ready",
                                 .message = "",
                                 .last_transition = {},
                                 .observed_generation = 7}};
  return balancer;
}

class status_report : public testing::Test {
 protected:
  status_report() {
    api::OwnerList owners{.items = {{"prod", 2, 0, 0}, {"test", 1, 0, 0}}, .revision = 1};
    answers("/v1/owners", encode(owners));
    answers(path("prod", "loadbalancers"), balancers({a_balancer("prod", "a")}, "1.1.x.a"));
    answers(path("prod", "loadbalancers") + "&continue=1.1.x.a",
            balancers({a_balancer("prod", "b")}, ""));
    answers(path("test", "loadbalancers"), balancers({a_balancer("test", "c")}, ""));
    for (std::string owner : {"prod", "test"}) {
      answers(path(owner, "addresses"), encode(api::AddressList{}));
      answers(path(owner, "routetables"), encode(api::RouteTableList{}));
    }
    answers("/v1/pools", encode(api::PoolList{}));
    answers("/v1/orphans", encode(api::OrphanList{.items = {{"prod", "lost", 3, {}, false}}}));
  }
  static std::string path(std::string_view owner, std::string_view what) {
    return "/v1/owners/" + std::string(owner) + "/" + std::string(what) + "?limit=1000";
  }
  static std::string balancers(std::vector<api::LoadBalancer> items, std::string more) {
    return encode(api::LoadBalancerList{
        .items = std::move(items), .revision = 1, .continue_token = std::move(more)});
  }
  void answers(const std::string& target, std::string body) {
    transport.answers[target] = {200, {}, std::move(body)};
  }
  Result<StatusReport> read(std::string owner = "") { return world.run(reader.read(owner)); }

  VirtualWorld world;
  CannedTransport transport;
  StatusReader reader{transport, Secret("s3cret")};
};

TEST_F(status_report, has_all_pages_of_everybody) {
  StatusReport report = read().value();
  std::vector<std::string> names;
  for (const api::LoadBalancer& balancer : report.balancers) {
    names.push_back(balancer.metadata.owner + "/" + balancer.metadata.name);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"prod/a", "prod/b", "test/c"}));
  EXPECT_EQ(report.orphans->size(), 1u);
  EXPECT_EQ(transport.token, "Bearer s3cret");
}

TEST_F(status_report, of_one_owner_has_nobody_elses) {
  StatusReport report = read("test").value();
  EXPECT_EQ(report.balancers.size(), 1u);
  EXPECT_TRUE(report.orphans->empty());
  EXPECT_TRUE(is_well(report));
}

TEST_F(status_report, has_route_tables_where_the_server_knows_of_them) {
  api::RouteTable table;
  table.metadata = {.owner = "test", .name = "pods", .uid = "u2", .generation = 1, .revision = 1};
  answers(path("test", "routetables"), encode(api::RouteTableList{.items = {table}}));
  EXPECT_EQ(read().value().route_tables, std::vector{table});
  EXPECT_FALSE(is_well(read("test").value())) << "nobody has looked at it";
  transport.refuse(path("test", "routetables"), api::problem::path_not_found);
  EXPECT_TRUE(is_well(read("test").value())) << "an older server";
}

TEST_F(status_report, of_somebody_who_is_no_admin_goes_without_orphans) {
  transport.refuse("/v1/orphans", api::problem::forbidden);
  StatusReport report = read().value();
  EXPECT_FALSE(report.orphans);
  EXPECT_TRUE(is_well(report));
}

TEST_F(status_report, is_well_when_everything_is_ready_and_nothing_is_lost) {
  StatusReport report = read().value();
  EXPECT_FALSE(is_well(report));
  report.orphans->clear();
  EXPECT_TRUE(is_well(report));
  report.balancers[0].metadata.generation = 8;
  EXPECT_FALSE(is_ready(report.balancers[0]));
  EXPECT_FALSE(is_well(report));
}

TEST_F(status_report, what_the_server_says_is_told_and_what_is_no_server_of_ours_is_called_so) {
  transport.refuse("/v1/owners", api::problem::unauthenticated);
  EXPECT_EQ(read().outcome(), Outcome::denied);
  EXPECT_NE(read().error().message.find("--token-file"), std::string::npos);
  transport.refuse("/v1/owners", api::problem::not_offered);
  EXPECT_EQ(read().outcome(), Outcome::unsupported);
  transport.answers.erase("/v1/owners");
  EXPECT_EQ(read().outcome(), Outcome::lost);
  EXPECT_NE(read().error().message.find("not one of an Isthmus backend"), std::string::npos);
}

TEST_F(status_report, for_programs_is_one_document_with_the_objects_of_the_api) {
  json::value document = parse_json(encode(read().value())).value();
  EXPECT_EQ(document.at("kind"), "Status");
  EXPECT_EQ(document.at("loadBalancers").as_array().size(), 3u);
  EXPECT_EQ(document.at("loadBalancers").as_array()[0].at("kind"), "LoadBalancer");
  EXPECT_EQ(document.at("routeTables").as_array().size(), 0u);
  StatusReport of_an_owner;
  EXPECT_TRUE(parse_json(encode(of_an_owner))->at("orphans").is_null());
}

}  // namespace
}  // namespace isthmus::app
