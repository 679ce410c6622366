#include "isthmus/kube/checked_patch.h"

#include <utility>

#include "isthmus/base/json.h"

namespace isthmus::kube {
namespace {

std::string_view text_at(const json::value& document, std::string_view pointer) {
  boost::system::error_code none;
  const json::value* found = document.find_pointer(pointer, none);
  if (found == nullptr || !found->is_string()) return {};
  return found->as_string();
}

bool holds(const Precondition& precondition, const json::value& live) {
  if (!precondition.uid.empty() && text_at(live, "/metadata/uid") != precondition.uid) return false;
  return precondition.resource_version.empty() ||
         text_at(live, "/metadata/resourceVersion") == precondition.resource_version;
}

// One operation of a JSON patch, if it is a test, against the object as it is now.
bool test_holds(const json::value& operation, const json::value& live) {
  if (text_at(operation, "/op") != "test") return true;
  boost::system::error_code none;
  const json::value* wanted = operation.find_pointer("/value", none);
  const json::value* found = live.find_pointer(text_at(operation, "/path"), none);
  return wanted != nullptr && found != nullptr && *found == *wanted;
}

// Whether a patch says what it expects to find; only then can its refusal be a conflict.
bool has_precondition(const Patch& patch) {
  return !patch.precondition.uid.empty() || !patch.precondition.resource_version.empty() ||
         patch.type == PatchType::json;
}

// A test may fail because of an operation before it, never because of one behind it; as all of ours
// come first, each is compared with the live object as it is.
Result<bool> still_holds(const Patch& patch, std::string_view live_text) {
  const json::value live = TRY(parse_json(live_text));
  if (!holds(patch.precondition, live)) return false;
  if (patch.type != PatchType::json) return true;
  const json::value operations = TRY(parse_json(patch.body));
  if (!operations.is_array()) return true;
  for (const json::value& operation : operations.as_array()) {
    if (!test_holds(operation, live)) return false;
  }
  return true;
}

}  // namespace

Task<Result<std::string>> checked_patch(ApiDoor& api, PatchRequest request) {
  Result<std::string> answer = co_await api.patch(request);
  if (answer.outcome() != Outcome::invalid || !has_precondition(request.patch)) co_return answer;

  Result<std::string> live = co_await api.get(request.object);
  if (!live) co_return fail("reading live after a refused patch", std::move(live.error()));
  Result<bool> held = still_holds(request.patch, *live);
  if (!held) co_return fail(Outcome::lost, "the live object: " + held.error().message);
  if (*held) co_return answer;
  co_return fail(Outcome::conflict, "the object is no longer what the patch was made for (" +
                                        answer.error().message + ")");
}

}  // namespace isthmus::kube
