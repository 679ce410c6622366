#include "isthmus/kube/api/review.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "isthmus/base/json.h"
#include "isthmus/base/mistakes.h"

namespace isthmus::kube {
namespace {

// What a user may consist of. An API server that authenticates by webhook may answer anything.
constexpr std::size_t kGroupsMax = 1000;
constexpr std::size_t kExtrasMax = 100;
constexpr std::size_t kTextBytesMax = std::size_t{16} * 1024;

std::string optional_text(JsonReader& reader, std::string_view key) {
  std::optional<JsonReader> member = reader.optional(key);
  return member ? member->text(kTextBytesMax, JsonReader::Empty::allowed) : "";
}

bool optional_boolean(JsonReader& reader, std::string_view key) {
  std::optional<JsonReader> member = reader.optional(key);
  return member && member->boolean();
}

std::vector<std::string> texts(JsonReader reader) {
  std::vector<std::string> list;
  for (JsonReader each : reader.elements(kGroupsMax)) list.push_back(each.text(kTextBytesMax));
  return list;
}

UserInfo read_user(JsonReader reader) {
  UserInfo user;
  user.name = optional_text(reader, "username");
  user.uid = optional_text(reader, "uid");
  if (auto groups = reader.optional("groups")) user.groups = texts(*groups);
  if (auto extra = reader.optional("extra")) {
    for (auto& [key, values] : extra->members(kExtrasMax)) user.extra[key] = texts(values);
  }
  return user;
}

// Reads the status of a review of that kind with `read(status)`.
template <class T, class Read>
Result<T> decode(std::string_view text, Read read) {
  const std::string kind(T::resource.kind);
  Result<json::value> document = parse_json(text);
  if (!document) return fail(Outcome::lost, kind + ": " + document.error().message);
  Mistakes mistakes;
  JsonReader root(*document, mistakes);
  if (root.required("kind").text() != kind) return fail(Outcome::lost, "the answer is no " + kind);
  JsonReader status = root.required("status");
  T review = read(status);
  if (!mistakes.empty()) return fail(Outcome::lost, kind + ": " + mistakes.text());
  return review;
}

json::object review_of(const ResourceType& resource, json::object spec) {
  return {{"kind", resource.kind}, {"apiVersion", resource.api_version}, {"spec", std::move(spec)}};
}

}  // namespace

bool UserInfo::is_in(std::string_view group) const {
  return std::ranges::find(groups, group) != groups.end();
}

std::string token_review_body(const Secret& token) {
  return compact_json(review_of(TokenReview::resource, {{"token", token.reveal()}}));
}

Result<TokenReview> decode_token_review(std::string_view json) {
  TokenReview review = TRY(decode<TokenReview>(json, [](JsonReader& status) {
    TokenReview read;
    read.authenticated = optional_boolean(status, "authenticated");
    read.error = optional_text(status, "error");
    if (auto user = status.optional("user"); user && read.authenticated) {
      read.user = read_user(*user);
    }
    return read;
  }));
  if (review.authenticated && review.user.name.empty()) {
    return fail(Outcome::lost, "TokenReview: authenticates somebody without a name");
  }
  return review;
}

std::string access_review_body(const UserInfo& user, std::string_view verb, std::string_view path) {
  json::object spec{{"user", user.name},
                    {"nonResourceAttributes", json::object{{"verb", verb}, {"path", path}}}};
  if (!user.uid.empty()) spec["uid"] = user.uid;
  if (!user.groups.empty()) spec["groups"] = json::value_from(user.groups);
  if (!user.extra.empty()) spec["extra"] = json::value_from(user.extra);
  return compact_json(review_of(SubjectAccessReview::resource, std::move(spec)));
}

Result<SubjectAccessReview> decode_access_review(std::string_view json) {
  return decode<SubjectAccessReview>(json, [](JsonReader& status) {
    SubjectAccessReview read;
    // An authorizer's veto counts, whatever else it says.
    read.allowed = optional_boolean(status, "allowed") && !optional_boolean(status, "denied");
    read.reason = optional_text(status, "reason");
    return read;
  });
}

}  // namespace isthmus::kube
