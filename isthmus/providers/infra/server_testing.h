// A server that answers what a test wrote down, for tests of what speaks to one.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "isthmus/base/ip.h"
#include "isthmus/base/virtual_world.h"
#include "isthmus/infra/api/load_balancer.h"
#include "isthmus/infra/api/problem.h"
#include "isthmus/infra/api/server_info.h"
#include "isthmus/infra/api/target_set.h"
#include "isthmus/net/pieces_testing.h"
#include "isthmus/net/transport.h"
#include "isthmus/providers/infra/handshake.h"
#include "isthmus/providers/infra/objects_client.h"
#include "isthmus/providers/infra/target_sets.h"

namespace isthmus::providers::infra::testing {

namespace api = isthmus::infra::api;

inline net::Response json_answer(std::string body, int status = 200) {
  return {
      .status = status, .headers = {{"Content-Type", "application/json"}}, .body = std::move(body)};
}

// `instance` is what it speaks of.
inline net::Response problem_answer(const api::Problem& problem) {
  return {.status = problem.status,
          .headers = {{"Content-Type", "application/problem+json"}},
          .body = encode(problem)};
}
inline net::Response problem_answer(std::string_view suffix, std::string instance = "") {
  api::Problem problem = api::make_problem(suffix, "so it is");
  problem.instance = std::move(instance);
  return problem_answer(problem);
}

inline net::Response html_answer(int status) {
  return {.status = status,
          .headers = {{"Content-Type", "text/html"}},
          .body = "<html><h1>hello</h1></html>"};
}

inline api::ServerInfo whole_server() {
  api::ServerInfo info;
  info.protocol_version = "v1";
  info.provider_name = "isthmus";
  info.provider_id_scheme = "isthmus";
  info.capabilities = {"instances", "loadBalancers", "loadBalancers.watch", "targetSets"};
  info.owner = "prod";
  return info;
}

inline IpAddress ip(std::string_view text) { return parse_ip(text).value(); }

// One of the owner "prod" that is ready.
inline api::LoadBalancer ready_balancer(std::string name = "web") {
  api::LoadBalancer balancer;
  balancer.metadata.owner = "prod";
  balancer.metadata.name = std::move(name);
  balancer.metadata.uid = "u1";
  balancer.metadata.generation = 1;
  balancer.metadata.revision = 7;
  balancer.spec.families = {IpFamily::v4};
  balancer.spec.listeners = {{"http", api::Protocol::tcp, 80, "port-30080"}};
  api::TargetGroup& group = balancer.spec.target_groups.emplace_back();
  group.name = "port-30080";
  group.target_set = "nodes";
  group.port = 30080;
  balancer.status.addresses = {ip("192.0.2.1")};
  balancer.status.observed_generation = 1;
  balancer.status.conditions = {{.type = std::string(api::condition::ready),
                                 .status = api::ConditionStatus::is_true,
                                 .reason = "Ready",
                                 .message = "",
                                 .last_transition = {},
                                 .observed_generation = 1}};
  return balancer;
}

inline api::TargetSet a_target_set(std::string name = "nodes") {
  api::TargetSet set;
  set.metadata.owner = "prod";
  set.metadata.name = std::move(name);
  set.metadata.uid = "u2";
  set.metadata.generation = 1;
  set.metadata.revision = 3;
  set.targets = {{.name = "n1", .addresses = {ip("10.0.0.1")}}};
  return set;
}

// What is asked for by "METHOD target" is answered as written; everything else is no path.
class ScriptedServer final : public net::Transport {
 public:
  using Pieces = std::deque<Result<std::string>>;

  Task<Result<net::Response>> call(net::Request request) override {
    const std::string asked = request.method + " " + request.target;
    seen.push_back(asked);
    last = std::move(request);
    const auto found = answers.find(asked);
    if (found == answers.end()) co_return problem_answer(api::problem::path_not_found);
    co_return found->second;
  }

  Task<Result<net::StreamedResponse>> open(net::Request request) override {
    const std::string asked = request.method + " " + request.target;
    seen.push_back(asked);
    const auto streamed = streams.find(asked);
    const auto found = answers.find(asked);
    net::StreamedResponse response{.status = 200, .headers = {}, .body = nullptr};
    if (streamed != streams.end()) {
      response.body = make_stream(streamed->second);
    } else if (found != answers.end() && !found->second) {
      co_return std::unexpected(found->second.error());
    } else {
      net::Response answer =
          found != answers.end() ? *found->second : problem_answer(api::problem::path_not_found);
      response.status = answer.status;
      response.headers = std::move(answer.headers);
      response.body = make_stream({std::move(answer.body)});
    }
    co_return std::move(response);
  }

  void greet(const api::ServerInfo& info) { answer("GET /v1", json_answer(encode(info))); }
  void answer(std::string asked, Result<net::Response> response) {
    answers.insert_or_assign(std::move(asked), std::move(response));
  }

  // How the body of a stream is made of its pieces.
  std::function<std::unique_ptr<net::BodyStream>(Pieces)> make_stream = [](Pieces pieces) {
    return std::make_unique<net::testing::Pieces>(std::move(pieces));
  };
  std::map<std::string, Result<net::Response>> answers;
  std::map<std::string, Pieces> streams;
  std::vector<std::string> seen;
  net::Request last;
};

// All that speaks to such a server.
struct ScriptedProvider : ::testing::Test {
  VirtualWorld world;
  ScriptedServer server;
  Client client{server, world.loop};
  ObjectsClient objects{server, world.loop};
  Handshake handshake{client, "isthmus", ""};
  InfraTargetSets sets{objects, handshake};
};

}  // namespace isthmus::providers::infra::testing
