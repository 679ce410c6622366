#include "isthmus/kube/dry_run_api.h"

#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "isthmus/base/json.h"
#include "isthmus/kube/apply_patch.h"
#include "isthmus/kube/lru.h"

namespace isthmus::kube {
namespace {

constexpr std::size_t kObjectsMax = 10'000;

// More of them on one version of an object than any story takes: its writer is sent back to what is
// real.
constexpr std::size_t kPatchesMax = 16;

// Different places of one object that were written; a Node has four.
constexpr std::size_t kPlacesMax = 64;

std::string_view text_at(const json::value& document, std::string_view pointer) {
  boost::system::error_code none;
  const json::value* found = document.find_pointer(pointer, none);
  return found != nullptr && found->is_string() ? std::string_view(found->as_string()) : "";
}

// "nodes/n1", "services/default/web".
std::string text_of(const ObjectName& name) {
  return fmt::format("{}/{}", name.resource.plural, to_string(name.key));
}

bool is_event(const ObjectName& name) { return name.resource.plural == Event::resource.plural; }

// What it changes, without what it must find to do so.
std::string wish_of(const Patch& patch) {
  Result<json::value> body = parse_json(patch.body);
  if (!body || !body->is_object()) return patch.body;
  json::object& object = body->as_object();
  if (json::value* meta = object.if_contains("metadata"); meta != nullptr && meta->is_object()) {
    meta->as_object().erase("uid");
    meta->as_object().erase("resourceVersion");
    if (meta->as_object().empty()) object.erase("metadata");
  }
  return compact_json(object);
}

// Where it changes something: two patches of the same places replace each other as wishes.
void add_places(const json::value& value, const std::string& path, std::string& places) {
  if (const json::object* object = value.if_object()) {
    for (const auto& [key, member] : *object) {
      add_places(member, fmt::format("{}/{}", path, std::string_view(key)), places);
    }
    return;
  }
  places += path + "\n";
}

std::string places_of(const std::string& subresource, const std::string& wish) {
  std::string places = subresource + "\n";
  if (const Result<json::value> body = parse_json(wish)) add_places(*body, "", places);
  return places;
}

std::string metadata_of(const json::object& object) {
  return compact_json({{"kind", NodeMetadata::resource.kind},
                       {"apiVersion", NodeMetadata::resource.api_version},
                       {"metadata", object.at("metadata")}});
}

void stamp(json::object& object, const std::string& version) {
  json::value& meta = object["metadata"];
  if (!meta.is_object()) meta = json::object();
  meta.as_object()["resourceVersion"] = version;
}

// conflict: the object is not the one, or not at the version, that was decided on.
Result<> check(const Precondition& wanted, const json::value& live) {
  const bool is_same = wanted.uid.empty() || wanted.uid == text_at(live, "/metadata/uid");
  const bool is_unchanged = wanted.resource_version.empty() ||
                            wanted.resource_version == text_at(live, "/metadata/resourceVersion");
  if (is_same && is_unchanged) return {};
  return fail(Outcome::conflict,
              is_same ? "the object has changed" : "another object of that name");
}

}  // namespace

struct DryRunApi::Memory {
  explicit Memory(Logger& log_) : log(log_) {}

  // An object as it would be by now.
  struct Imagined {
    std::string base = {};  // The resourceVersion of the real one; empty: there is none.
    std::string created = {};
    std::vector<Patch> patches = {};
    std::string version = {};
  };

  struct Remembered {
    std::optional<Imagined> imagined = {};
    std::map<std::string, std::string> told = {};  // By place: what was said to be wanted there.
  };

  using Key = std::pair<std::string_view, ObjectKey>;
  static Key key_of(const ObjectName& name) { return {name.resource.plural, name.key}; }

  Result<std::string> shown(const ObjectName& name, Result<std::string> live);
  Result<json::object> replay(const Imagined& imagined, const std::string& live) const;
  bool is_news(const ObjectName& name, std::string place, std::string wish);
  Imagined& imagine(const ObjectName& name, std::string base);
  void tell_event(const CreateRequest& request);
  Result<std::string> patched(const PatchRequest& request, const std::string& live);

  Logger& log;
  Lru<Key, Remembered> objects{kObjectsMax};
  std::uint64_t versions = 0;
};

// What is real, or what was made of it in thought for as long as it stays as it was.
Result<std::string> DryRunApi::Memory::shown(const ObjectName& name, Result<std::string> live) {
  Remembered* remembered = objects.find(key_of(name));
  if (remembered == nullptr || !remembered->imagined) return live;
  const Imagined& imagined = *remembered->imagined;
  if (live.outcome() == Outcome::absent && imagined.base.empty()) {
    return compact_json(TRY(replay(imagined, imagined.created)));
  }
  if (!live && live.outcome() != Outcome::absent) return live;
  const Result<json::value> real = live ? parse_json(*live) : json::value();
  if (!real) return fail(Outcome::lost, "the live object: " + real.error().message);
  const bool is_as_it_was = live && !imagined.base.empty() &&
                            text_at(*real, "/metadata/resourceVersion") == imagined.base;
  if (is_as_it_was) return compact_json(TRY(replay(imagined, *live)));
  remembered->imagined.reset();
  return live;
}

Result<json::object> DryRunApi::Memory::replay(const Imagined& imagined,
                                               const std::string& live) const {
  json::value document = TRY(parse_json(live));
  if (!document.is_object()) return fail(Outcome::lost, "the live object is none");
  json::object object = std::move(document.as_object());
  for (const Patch& patch : imagined.patches) {
    object = TRY(apply_patch(std::move(object), patch.type, patch.body));
  }
  stamp(object, imagined.version);
  return object;
}

bool DryRunApi::Memory::is_news(const ObjectName& name, std::string place, std::string wish) {
  std::map<std::string, std::string>& told = objects.touch(key_of(name)).told;
  if (told.size() == kPlacesMax) told.clear();
  std::string& last = told[std::move(place)];
  return std::exchange(last, wish) != wish;
}

DryRunApi::Memory::Imagined& DryRunApi::Memory::imagine(const ObjectName& name, std::string base) {
  std::optional<Imagined>& imagined = objects.touch(key_of(name)).imagined;
  if (!imagined) imagined = Imagined{.base = std::move(base)};
  imagined->version = fmt::format("{}-dry-run-{}", imagined->base, ++versions);
  return *imagined;
}

void DryRunApi::Memory::tell_event(const CreateRequest& request) {
  const Result<json::value> body = parse_json(request.body);
  const json::value event = body ? *body : json::value();
  const ObjectKey about{std::string(text_at(event, "/involvedObject/namespace")),
                        std::string(text_at(event, "/involvedObject/name"))};
  log.info(
      "would tell by an event",
      {{"object", fmt::format("{}/{}", text_at(event, "/involvedObject/kind"), to_string(about))},
       {"type", text_at(event, "/type")},
       {"reason", text_at(event, "/reason")},
       {"message", text_at(event, "/message")}});
}

Result<std::string> DryRunApi::Memory::patched(const PatchRequest& request,
                                               const std::string& live) {
  json::value before = TRY(parse_json(live));
  if (!before.is_object()) return fail(Outcome::lost, "the live object is none");
  TRY(check(request.patch.precondition, before));
  const std::string version(text_at(before, "/metadata/resourceVersion"));
  json::object after = TRY(apply_patch(before.as_object(), request.patch.type, request.patch.body));
  stamp(after, version);
  if (after != before.as_object()) {
    std::string wish = wish_of(request.patch);
    std::string places = places_of(request.subresource, wish);
    if (is_news(request.object, std::move(places), wish)) {
      log.info("would patch", {{"object", text_of(request.object)},
                               {"subresource", request.subresource},
                               {"patch", wish}});
    }
    Imagined& imagined = imagine(request.object, version);
    imagined.patches.push_back(request.patch);
    stamp(after, imagined.version);
  }
  return request.metadata_only ? metadata_of(after) : compact_json(after);
}

DryRunApi::DryRunApi(ApiDoor& next, Logger& log)
    : next_(next), memory_(std::make_unique<Memory>(log)) {}

DryRunApi::~DryRunApi() = default;

Task<Result<std::string>> DryRunApi::get(ObjectName object) {
  Result<std::string> live = co_await next_.get(object);
  co_return memory_->shown(object, std::move(live));
}

Task<Result<std::string>> DryRunApi::list(ListRequest request) {
  return next_.list(std::move(request));
}

Task<Result<std::unique_ptr<WatchStream>>> DryRunApi::watch(WatchRequest request) {
  return next_.watch(std::move(request));
}

Task<Result<std::string>> DryRunApi::create(CreateRequest request) {
  if (is_event(request.object)) {
    memory_->tell_event(request);
    co_return std::move(request.body);
  }
  const Result<std::string> live = co_await get(request.object);
  if (live) co_return fail(Outcome::conflict, text_of(request.object) + " exists");
  if (live.outcome() != Outcome::absent) co_return std::unexpected(live.error());
  if (memory_->is_news(request.object, "create", request.body)) {
    memory_->log.info("would create",
                      {{"object", text_of(request.object)}, {"body", request.body}});
  }
  Memory::Imagined& imagined = memory_->imagine(request.object, "");
  imagined.created = std::move(request.body);
  co_return memory_->shown(request.object, fail(Outcome::absent, "imagined"));
}

Task<Result<std::string>> DryRunApi::patch(PatchRequest request) {
  if (is_event(request.object)) co_return std::move(request.patch.body);  // The same once more.
  const std::string live = CO_TRY(co_await get(request.object));
  const Memory::Remembered* known = memory_->objects.find(Memory::key_of(request.object));
  if (known != nullptr && known->imagined && known->imagined->patches.size() == kPatchesMax) {
    memory_->objects.touch(Memory::key_of(request.object)).imagined.reset();
    co_return fail(Outcome::conflict, "too much was imagined of " + text_of(request.object));
  }
  co_return memory_->patched(request, live);
}

Task<Result<>> DryRunApi::remove(DeleteRequest request) {
  const std::string live = CO_TRY(co_await get(request.object));
  const json::value seen = CO_TRY(parse_json(live));
  CO_TRY(check(request.precondition, seen));
  if (memory_->is_news(request.object, "delete", request.precondition.uid)) {
    memory_->log.info("would delete",
                      {{"object", text_of(request.object)}, {"uid", request.precondition.uid}});
  }
  co_return Result<>{};
}

}  // namespace isthmus::kube
