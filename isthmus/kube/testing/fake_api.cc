#include "isthmus/kube/testing/fake_api.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "isthmus/kube/apply_patch.h"

namespace isthmus::kube::testing {
namespace {

json::object& meta_of(json::object& object) { return object["metadata"].as_object(); }

std::string text_at(const json::object& object, std::string_view pointer) {
  boost::system::error_code none;
  const json::value whole(object);
  const json::value* found = whole.find_pointer(pointer, none);
  return found != nullptr && found->is_string() ? std::string(found->as_string()) : "";
}

bool has_finalizers(const json::object& object) {
  const json::object& meta = object.at("metadata").as_object();
  const json::value* finalizers = meta.if_contains("finalizers");
  return finalizers != nullptr && finalizers->is_array() && !finalizers->as_array().empty();
}

bool is_being_deleted(const json::object& object) {
  return object.at("metadata").as_object().contains("deletionTimestamp");
}

std::string event_line(std::string_view type, const json::object& object) {
  return compact_json(json::object{{"type", type}, {"object", object}});
}

constexpr const char* kTooLarge =
    R"({"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},)"
    R"("status":"Failure","message":"Timeout: Too large resource version","reason":"Timeout",)"
    R"("details":{"causes":[{"reason":"ResourceVersionTooLarge"}],"retryAfterSeconds":1},)"
    R"("code":504}})";

// Whether a list or a watch of `only` shows this object.
bool is_selected(const ObjectKey& only, const ObjectKey& key) {
  const bool right_space = only.name_space.empty() || only.name_space == key.name_space;
  return right_space && (only.name.empty() || only.name == key.name);
}

// What is answered to who asks for a PartialObjectMetadata.
std::string metadata_of(std::string_view document) {
  json::value object = parse_json(document).value();
  return compact_json({{"kind", "PartialObjectMetadata"},
                       {"apiVersion", "meta.k8s.io/v1"},
                       {"metadata", object.at("metadata")}});
}

ObjectKey key_in(const json::object& object) {
  return {text_at(object, "/metadata/namespace"), text_at(object, "/metadata/name")};
}

}  // namespace

// One watch: lines wait here until they are asked for.
class FakeApi::Stream final : public WatchStream, public ListNode {
 public:
  Stream(FakeApi& api, WatchRequest request)
      : api_(api), request_(std::move(request)), ends_at_(api.clock_.now() + request_.timeout) {
    ++api_.open_;
    api_.streams_.push_back(*this);
  }
  ~Stream() override { --api_.open_; }

  Task<Result<std::string>> next() override {
    while (lines_.empty() || api_.frozen) {
      if (end_ == End::orderly) co_return std::string();
      if (end_ == End::broken) co_return fail(Outcome::lost, "connection reset by peer");
      something_.clear();
      Result<> woken = co_await with_deadline(ends_at_, wait());
      if (!woken && api_.clock_.now() >= ends_at_) end_ = End::orderly;
      if (!woken && end_ == End::no) co_return std::unexpected(woken.error());
    }
    std::string line = std::move(lines_.front());
    lines_.pop_front();
    co_return line;
  }

  // A watch from a version that is not there yet hears nothing until it is.
  bool sees(const ResourceType& resource, const ObjectKey& key) const {
    if (resource.plural != request_.resource.plural || api_.version_ <= from()) return false;
    return is_selected(request_.only, key);
  }
  void say(std::string line) {
    if (end_ != End::no) return;
    lines_.push_back(std::move(line));
    something_.set();
  }
  enum class End : std::uint8_t { no, orderly, broken };
  void end(End how) {
    end_ = how;
    something_.set();
  }
  const WatchRequest& request() const { return request_; }
  std::uint64_t from() const {
    return request_.resource_version.empty() ? 0 : std::stoull(request_.resource_version);
  }

 private:
  Task<Result<>> wait() {
    CO_TRY(co_await something_.wait());
    co_return Result<>{};
  }

  FakeApi& api_;
  const WatchRequest request_;
  const Moment ends_at_;
  std::deque<std::string> lines_;
  Signal something_;
  End end_ = End::no;
};

FakeApi::~FakeApi() { ISTHMUS_ASSERT(open_ == 0, "a watch outlives its server"); }

template <class Act>
void FakeApi::each_stream(Act act) {
  ListNode seen;
  while (streams_.linked()) {
    auto& stream = static_cast<Stream&>(streams_.front());
    stream.unlink();
    seen.push_back(stream);
    act(stream);
  }
  streams_.splice(seen);
}

std::string FakeApi::put(const ResourceType& resource, std::string_view document) {
  Result<json::value> parsed = parse_json(document);
  ISTHMUS_ASSERT(parsed, "a test puts a document that is no JSON");
  json::object object = std::move(parsed->as_object());
  const ObjectKey key = key_in(object);
  Objects& all = objects_[std::string(resource.plural)];
  const auto known = all.find(key);
  if (known != all.end()) {
    meta_of(object)["uid"] = known->second.at("metadata").at("uid");
    meta_of(object)["creationTimestamp"] = known->second.at("metadata").at("creationTimestamp");
  }
  store(known == all.end() ? "ADDED" : "MODIFIED", resource, key, std::move(object));
  return version();
}

void FakeApi::erase(const ResourceType& resource, const ObjectKey& key) {
  Objects& all = objects_[std::string(resource.plural)];
  const auto found = all.find(key);
  ISTHMUS_ASSERT(found != all.end(), "a test erases what is not there");
  json::object object = std::move(found->second);
  store("DELETED", resource, key, std::move(object));
}

json::value FakeApi::see(const ResourceType& resource, const ObjectKey& key) const {
  const auto all = objects_.find(resource.plural);
  if (all == objects_.end()) return nullptr;
  const auto found = all->second.find(key);
  if (found == all->second.end()) return nullptr;
  return found->second;
}

std::vector<ObjectKey> FakeApi::keys(const ResourceType& resource) const {
  std::vector<ObjectKey> keys;
  const auto all = objects_.find(resource.plural);
  if (all == objects_.end()) return keys;
  for (const auto& [key, object] : all->second) keys.push_back(key);
  return keys;
}

// Every change passes here: it gets a version, becomes the truth, and is told to the watches.
void FakeApi::store(std::string_view type, const ResourceType& resource, const ObjectKey& key,
                    json::object object) {
  ++version_;
  object["apiVersion"] = resource.api_version;
  object["kind"] = resource.kind;
  json::object& meta = meta_of(object);
  meta["resourceVersion"] = version();
  if (!meta.contains("uid")) {
    meta["uid"] = fmt::format("00000000-0000-4000-8000-{:012}", next_uid_++);
    meta["creationTimestamp"] = rfc3339(clock_.wall_now());
  }
  std::string line = event_line(type, object);
  Objects& all = objects_[std::string(resource.plural)];
  if (type == "DELETED") {
    all.erase(key);
  } else {
    all[key] = std::move(object);
  }
  past_.push_back({version_, resource.plural, key, line});
  publish(resource, key, std::move(line));
}

void FakeApi::publish(const ResourceType& resource, const ObjectKey& key, std::string line) {
  each_stream([&](Stream& stream) {
    if (stream.sees(resource, key)) stream.say(line);
  });
}

std::string FakeApi::bookmark_line(const ResourceType& resource, bool initial_end) const {
  json::object meta{{"resourceVersion", version()}};
  if (initial_end) meta["annotations"] = json::object{{"k8s.io/initial-events-end", "true"}};
  return event_line("BOOKMARK", json::object{{"apiVersion", resource.api_version},
                                             {"kind", resource.kind},
                                             {"metadata", std::move(meta)}});
}

void FakeApi::bookmark() {
  each_stream([this](Stream& stream) {
    if (version_ >= stream.from()) stream.say(bookmark_line(stream.request().resource, false));
  });
}
void FakeApi::restore_backup() {
  objects_.clear();
  past_.clear();
  version_ = oldest_ = 10;
}
void FakeApi::end_watches() {
  each_stream([](Stream& stream) { stream.end(Stream::End::orderly); });
}
void FakeApi::break_watches() {
  each_stream([](Stream& stream) { stream.end(Stream::End::broken); });
}
void FakeApi::say(std::string line) {
  each_stream([&line](Stream& stream) { stream.say(line); });
}
void FakeApi::refuse_watches(int code, std::string_view reason) {
  say(event_line("ERROR", json::object{{"apiVersion", "v1"},
                                       {"kind", "Status"},
                                       {"metadata", json::object()},
                                       {"status", "Failure"},
                                       {"reason", reason},
                                       {"message", "the test says so"},
                                       {"code", code}}));
  end_watches();
}

unsigned FakeApi::calls(Verb verb, std::string_view plural) const {
  unsigned sum = 0;
  for (const auto& [what, count] : calls_) {
    if (what.first == verb && (plural.empty() || what.second == plural)) sum += count;
  }
  return sum;
}

std::optional<Fault> FakeApi::fault_of(Verb verb, std::string_view plural, bool after_effect) {
  const auto found = std::ranges::find_if(faults_, [&](const Fault& fault) {
    return fault.verb == verb && (fault.plural.empty() || fault.plural == plural);
  });
  if (found == faults_.end() || found->after_effect != after_effect) return std::nullopt;
  const Fault fault = *found;
  if (--found->times <= 0) faults_.erase(found);
  return fault;
}

// What every call goes through before it has an effect.
Task<Result<>> FakeApi::arrive(Verb verb, ObjectName object) {
  ++calls_[{verb, std::string(object.resource.plural)}];
  if (latency > Duration::zero()) CO_TRY(co_await sleep_for(latency));
  if (on_call) on_call(verb, object);
  const std::optional<Fault> fault = fault_of(verb, object.resource.plural, false);
  if (!fault) co_return Result<>{};
  if (fault->hang) {
    Signal never;
    CO_TRY(co_await never.wait());
  }
  co_return std::unexpected(fault->error);
}

Result<std::string> FakeApi::answer(Verb verb, const ResourceType& resource, std::string text) {
  const std::optional<Fault> fault = fault_of(verb, resource.plural, true);
  if (fault) return std::unexpected(fault->error);
  return text;
}

Result<json::object*> FakeApi::live(const ObjectName& object) {
  Objects& all = objects_[std::string(object.resource.plural)];
  const auto found = all.find(object.key);
  if (found != all.end()) return &found->second;
  return fail(Outcome::absent,
              fmt::format("{} \"{}\" not found", object.resource.plural, object.key.name));
}

Task<Result<std::string>> FakeApi::get(ObjectName object) {
  CO_TRY(co_await arrive(Verb::get, object));
  const json::object* found = CO_TRY(live(object));
  co_return answer(Verb::get, object.resource, compact_json(*found));
}

Task<Result<std::string>> FakeApi::list(ListRequest request) {
  CO_TRY(co_await arrive(Verb::list, {request.resource, {}}));
  Rest rest{version_, {}};
  if (request.continue_token.empty()) {
    for (const auto& [key, object] : objects_[std::string(request.resource.plural)]) {
      if (!is_selected(request.only, key)) continue;
      json::object item = object;
      item.erase("kind");  // As in a real list, whose items do not repeat what its head says.
      item.erase("apiVersion");
      rest.items.emplace_back(std::move(item));
    }
  } else {
    const auto found = rests_.find(request.continue_token);
    if (found == rests_.end() || found->second.version < oldest_) {
      co_return fail(Outcome::conflict, "the provided continue parameter is too old");
    }
    rest = found->second;
  }
  std::size_t limit = request.limit > 0 ? static_cast<std::size_t>(request.limit) : SIZE_MAX;
  if (page_max > 0) limit = std::min(limit, page_max);
  json::array items;
  while (!rest.items.empty() && items.size() < limit) {
    items.push_back(std::move(rest.items.front()));
    rest.items.pop_front();
  }
  json::object meta{{"resourceVersion", std::to_string(rest.version)}};
  if (!rest.items.empty()) {
    const std::string token = fmt::format("rest-{}", next_token_++);
    meta["continue"] = token;
    meta["remainingItemCount"] = rest.items.size();
    rests_[token] = std::move(rest);
  }
  co_return answer(Verb::list, request.resource,
                   compact_json(json::object{{"apiVersion", request.resource.api_version},
                                             {"kind", std::string(request.resource.kind) + "List"},
                                             {"metadata", std::move(meta)},
                                             {"items", std::move(items)}}));
}

Task<Result<std::unique_ptr<WatchStream>>> FakeApi::watch(WatchRequest request) {
  CO_TRY(co_await arrive(Verb::watch, {request.resource, request.only}));
  if (request.send_initial_events && !can_stream_lists) {
    co_return fail(Outcome::invalid, "sendInitialEvents is forbidden for watch");
  }
  auto stream = std::make_unique<Stream>(*this, request);
  const std::uint64_t from = stream->from();
  if (!request.send_initial_events && from < oldest_) {
    co_return fail(Outcome::conflict, "too old resource version");
  }
  if (request.send_initial_events && from > version_) {
    stream->say(kTooLarge);
    stream->end(Stream::End::orderly);
  } else if (request.send_initial_events) {
    for (const auto& [key, object] : objects_[std::string(request.resource.plural)]) {
      if (is_selected(request.only, key)) stream->say(event_line("ADDED", object));
    }
    if (!withholds_initial_end) stream->say(bookmark_line(request.resource, true));
  } else {
    for (const Past& past : past_) {
      const bool is_seen =
          past.plural == request.resource.plural && is_selected(request.only, past.key);
      if (past.version > from && is_seen) stream->say(past.line);
    }
  }
  co_return std::unique_ptr<WatchStream>(std::move(stream));
}

Task<Result<std::string>> FakeApi::create(CreateRequest request) {
  CO_TRY(co_await arrive(Verb::create, request.object));
  const ObjectName name = request.object;
  if (objects_[std::string(name.resource.plural)].contains(name.key)) {
    co_return fail(Outcome::conflict, fmt::format("{} already exists", to_string(name.key)));
  }
  json::value document = CO_TRY(parse_json(request.body));
  if (key_in(document.as_object()) != name.key) {
    co_return fail(Outcome::invalid, "the name of the object does not match the name on the URL");
  }
  store("ADDED", name.resource, name.key, std::move(document.as_object()));
  co_return answer(Verb::create, name.resource, compact_json(see(name.resource, name.key)));
}

Task<Result<std::string>> FakeApi::patch(PatchRequest request) {
  CO_TRY(co_await arrive(Verb::patch, request.object));
  std::string text = CO_TRY(patched(request));
  if (request.metadata_only) text = metadata_of(text);
  co_return answer(Verb::patch, request.object.resource, std::move(text));
}

// The order of the checks is the real server's: a stale resourceVersion is a conflict even where
// the uid differs as well.
Result<std::string> FakeApi::patched(const PatchRequest& request) {
  const ObjectName& name = request.object;
  const bool is_whole = request.patch.type == PatchType::whole;
  const Result<json::object*> found = live(name);
  if (!found) {
    return is_whole ? fail(Outcome::conflict, "the uid in the precondition is nobody's")
                    : std::unexpected(found.error());
  }
  const json::object before = **found;
  json::object after = TRY(apply_patch(before, request.patch.type, request.patch.body));
  const std::string version_before = text_at(before, "/metadata/resourceVersion");
  if (text_at(after, "/metadata/resourceVersion") != version_before) {
    return fail(Outcome::conflict, "the object has been modified");
  }
  if (text_at(after, "/metadata/uid") != text_at(before, "/metadata/uid")) {
    return fail(is_whole ? Outcome::conflict : Outcome::invalid, "metadata.uid: another's");
  }
  // By its status, all of an object may be changed but its spec: finalizers as well.
  if (request.subresource == "status") {
    after.erase("spec");
    if (before.contains("spec")) after["spec"] = before.at("spec");
  } else if (before.contains("status")) {
    after["status"] = before.at("status");
  }
  if (after == before) return compact_json(before);
  const bool is_released = is_being_deleted(after) && !has_finalizers(after);
  std::string text = compact_json(after);
  store(is_released ? "DELETED" : "MODIFIED", name.resource, name.key, std::move(after));
  return is_released ? text : compact_json(see(name.resource, name.key));
}

Task<Result<>> FakeApi::remove(DeleteRequest request) {
  CO_TRY(co_await arrive(Verb::remove, request.object));
  CO_TRY(removed(request));
  std::string none = CO_TRY(answer(Verb::remove, request.object.resource, ""));
  co_return Result<>{};
}

Result<> FakeApi::removed(const DeleteRequest& request) {
  json::object object = *TRY(live(request.object));
  const Precondition& precondition = request.precondition;
  const bool is_other = precondition.uid != text_at(object, "/metadata/uid");
  const bool has_moved =
      !precondition.resource_version.empty() &&
      precondition.resource_version != text_at(object, "/metadata/resourceVersion");
  if (is_other || has_moved) return fail(Outcome::conflict, "the precondition does not hold");
  if (!has_finalizers(object)) {
    erase(request.object.resource, request.object.key);
  } else if (!is_being_deleted(object)) {
    meta_of(object)["deletionTimestamp"] = rfc3339(clock_.wall_now());
    store("MODIFIED", request.object.resource, request.object.key, std::move(object));
  }
  return {};
}

}  // namespace isthmus::kube::testing
