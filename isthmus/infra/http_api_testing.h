// A server in memory and a way to ask it, for tests of handlers: an admin, the owner "prod", a
// store whose disk can be full.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "isthmus/base/virtual_world.h"
#include "isthmus/infra/faulty_store_testing.h"
#include "isthmus/infra/http_api.h"
#include "isthmus/infra/http_testing.h"
#include "isthmus/infra/store/sqlite_store.h"

namespace isthmus::infra {

inline Config with_tokens() {
  Config config;
  config.admin_token_file = "/admin";
  config.owners = {{"prod", "/prod"}};
  return config;
}

class HttpApiFixture : public testing::Test {
 protected:
  HttpApiFixture() {
    Mistakes mistakes;
    EXPECT_TRUE(files.write("/admin", "admin-token", FileMode::owner_only));
    EXPECT_TRUE(files.write("/prod", "owner-token", FileMode::owner_only));
    access.load(mistakes);
  }

  // Who is asked.
  virtual net::HttpHandler& served() { return handler; }

  net::Response ask(std::string method, std::string target, std::string body = "",
                    net::Headers headers = {}, std::string token = "admin-token") {
    if (!token.empty()) headers.set("Authorization", "Bearer " + token);
    RecordingWriter writer;
    net::Request request{std::move(method), std::move(target), std::move(headers), std::move(body)};
    EXPECT_TRUE(world.run(served().serve(std::move(request), peer, writer)));
    return writer.response;
  }
  net::Response put(std::string uid, std::string name, net::Headers headers = {}) {
    return ask("PUT", "/v1/instances/" + uid, R"({"metadata":{"name":")" + name + "\"}}",
               std::move(headers));
  }
  std::vector<std::string> names(const net::Response& list) {
    std::vector<std::string> names;
    for (const api::Instance& item : api::decode_instance_list(list.body).value().items) {
      names.push_back(item.name);
    }
    return names;
  }
  static std::string suffix(const net::Response& response) {
    EXPECT_EQ(response.headers.find("Content-Type"), api::kProblemMediaType) << response.body;
    auto problem = api::decode_problem(response.body, response.status);
    return problem ? std::string(problem->suffix()) : problem.error().message;
  }

  VirtualWorld world;
  MemoryFiles files;
  MemoryLogger log;
  Metrics metrics;
  SeededRandom random{1};
  Access access{files, log, with_tokens()};
  std::unique_ptr<Store> disk = open_sqlite_store(":memory:").value();
  std::unique_ptr<FaultyStore> store = std::make_unique<FaultyStore>(*disk);
  Instances instances{*store, world.loop};
  InventoryFile inventory{files, "/inventory", instances, world.loop, metrics, log};
  HttpApi handler{{*store, instances, access, &inventory, random, metrics, log, "1.2"}};
  net::Peer peer{.address = "unix", .is_local = true};
};

}  // namespace isthmus::infra
