// An API server that answers reviews, for tests: whose a token is, and who may do what.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>

#include "isthmus/base/json.h"
#include "isthmus/base/scope.h"
#include "isthmus/kube/api/review.h"
#include "isthmus/kube/api_door.h"

namespace isthmus::app {

class FakeReviews final : public kube::ApiDoor {
 public:
  std::map<std::string, std::string> users;  // By token: the user's name.
  std::set<std::string> allowed;             // "user verb path"
  std::optional<Error> error;                // What every call gets instead of an answer.
  bool hangs = false;
  Duration latency = std::chrono::milliseconds(5);
  int token_reviews = 0;
  int access_reviews = 0;
  std::string last_body;

  Task<Result<std::string>> create(kube::CreateRequest request) override {
    const bool is_token = request.object.resource.plural == kube::TokenReview::resource.plural;
    ++(is_token ? token_reviews : access_reviews);
    last_body = request.body;
    CO_TRY(co_await sleep_for(hangs ? Duration(std::chrono::hours(1)) : latency));
    if (error) co_return std::unexpected(*error);
    const json::value document = parse_json(request.body).value();
    const json::object& spec = document.at("spec").as_object();
    co_return compact_json(is_token ? token_answer(spec) : access_answer(spec));
  }

  Task<Result<std::string>> get(kube::ObjectName) override { return unused(); }
  Task<Result<std::string>> list(kube::ListRequest) override { return unused(); }
  Task<Result<std::unique_ptr<kube::WatchStream>>> watch(kube::WatchRequest) override {
    co_return fail(Outcome::unsupported, "reviews only");
  }
  Task<Result<std::string>> patch(kube::PatchRequest) override { return unused(); }
  Task<Result<>> remove(kube::DeleteRequest) override {
    co_return fail(Outcome::unsupported, "reviews only");
  }

 private:
  static Task<Result<std::string>> unused() {
    co_return fail(Outcome::unsupported, "reviews only");
  }

  json::object token_answer(const json::object& spec) const {
    const auto user = users.find(std::string(spec.at("token").as_string()));
    json::object status{{"error", "invalid bearer token"}};
    if (user != users.end()) {
      status = {{"authenticated", true},
                {"user", json::object{{"username", user->second},
                                      {"groups", json::array{"system:serviceaccounts"}}}}};
    }
    return {{"kind", "TokenReview"}, {"status", std::move(status)}};
  }

  json::object access_answer(const json::object& spec) const {
    const json::object& about = spec.at("nonResourceAttributes").as_object();
    const std::string question = std::string(spec.at("user").as_string()) + " " +
                                 std::string(about.at("verb").as_string()) + " " +
                                 std::string(about.at("path").as_string());
    return {{"kind", "SubjectAccessReview"},
            {"status", json::object{{"allowed", allowed.contains(question)}}}};
  }
};

}  // namespace isthmus::app
