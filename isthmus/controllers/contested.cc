#include "isthmus/controllers/contested.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "isthmus/base/text.h"

namespace isthmus::controllers {
namespace {

// What the API server calls us: the first word of our User-Agent.
constexpr std::string_view kOurManager = "isthmus";

constexpr const char* kUnknownWriter = "somebody whom metadata.managedFields does not name";

}  // namespace

std::string describe_writer(const std::vector<kube::FieldWriter>& writers) {
  if (writers.empty()) return kUnknownWriter;
  const auto other = std::ranges::find_if(
      writers, [](const kube::FieldWriter& writer) { return writer.manager != kOurManager; });
  const kube::FieldWriter& writer = other == writers.end() ? writers.front() : *other;
  std::string text =
      fmt::format("{} ({} at {})", quoted(writer.manager), writer.operation, writer.time);
  if (other == writers.end()) {
    text += ", which is our own name: another manager works on this cluster under another Lease";
  }
  return text;
}

ContestedFields::ContestedFields(const Clock& clock, Metrics& metrics, ContestWords words)
    : clock_(clock),
      words_(std::move(words)),
      parked_(metrics.counter("isthmus_fields_parked_total",
                              "Fields left to somebody else who kept writing over ours.",
                              {{"controller", words_.controller}})) {}

std::vector<Wish> ContestedFields::may_write(const kube::ObjectMeta& meta,
                                             const std::vector<Wish>& wrong) {
  Object* object = find(meta);
  if (object == nullptr) return wrong;
  std::erase_if(object->fields, [&](const auto& each) {
    const bool is_right = std::ranges::find(wrong, each.first, &Wish::field) == wrong.end();
    return is_parked(each.second) && is_right;
  });
  std::vector<Wish> allowed;
  for (const Wish& wish : wrong) {
    const auto found = object->fields.find(wish.field);
    const bool is_known = found != object->fields.end() && found->second.wanted == wish.wanted;
    if (!is_known || may_write(found->second)) allowed.push_back(wish);
  }
  return allowed;
}

// A field that we wrote, and that is not so any more, was reverted.
bool ContestedFields::may_write(Field& field) {
  if (is_parked(field)) return false;
  field.writer.reset();
  if (!std::exchange(field.stands, false)) return true;
  field.touched = clock_.now();
  if (field.dispute.may_redo(field.touched)) return true;
  parked_.add();
  return false;
}

void ContestedFields::wrote(const kube::ObjectMeta& meta, const std::vector<Wish>& wishes) {
  if (wishes.empty()) return;
  Object& object = objects_[meta.key];
  if (object.uid != meta.uid) object = {.uid = meta.uid};
  drop_old(object);
  for (const Wish& wish : wishes) {
    Field& field = object.fields[wish.field];
    if (field.wanted != wish.wanted) field = {.wanted = wish.wanted};
    field.stands = true;
    field.touched = clock_.now();
  }
}

std::vector<Notice> ContestedFields::notices(const kube::ObjectMeta& meta) const {
  std::vector<Notice> notices;
  const Object* object = find(meta);
  if (object == nullptr) return notices;
  for (const auto& [path, field] : object->fields) {
    if (!is_parked(field)) continue;
    notices.push_back(
        {.reason = words_.reason,
         .message = fmt::format("{} keeps being written over, last by {}; it is left as it is for "
                                "an hour. It should be: {}. Please {}",
                                kube::to_string(path), field.writer.value_or(kUnknownWriter),
                                field.wanted.empty() ? "nothing" : field.wanted, words_.advice),
         .sameness = kube::to_string(path)});
  }
  return notices;
}

Task<Result<>> ContestedFields::learn_writers(kube::ApiDoor& api, kube::ObjectName name) {
  const auto asks = [this](const auto& each) {
    return is_parked(each.second) && !each.second.writer;
  };
  const auto object = objects_.find(name.key);
  if (object == objects_.end() || std::ranges::none_of(object->second.fields, asks)) {
    co_return Result<>{};
  }
  Result<std::string> live = co_await api.get(name);
  if (!live && is_our_own(live.outcome())) co_return std::unexpected(std::move(live.error()));
  const auto again = objects_.find(name.key);
  if (again == objects_.end()) co_return Result<>{};
  for (auto& [path, field] : again->second.fields) {
    if (!is_parked(field) || field.writer) continue;
    std::vector<kube::FieldWriter> writers;
    if (live) writers = kube::writers_of(*live, path).value_or(std::vector<kube::FieldWriter>{});
    field.writer = describe_writer(writers);
  }
  co_return Result<>{};
}

std::optional<Moment> ContestedFields::next_try(const kube::ObjectMeta& meta) const {
  std::optional<Moment> next;
  const Object* object = find(meta);
  if (object == nullptr) return next;
  for (const auto& [path, field] : object->fields) {
    if (!is_parked(field)) continue;
    const Moment until = *field.dispute.parked_until();
    next = next ? std::min(*next, until) : until;
  }
  return next;
}

void ContestedFields::forget(const kube::ObjectKey& key) { objects_.erase(key); }

ContestedFields::Object* ContestedFields::find(const kube::ObjectMeta& meta) {
  const auto found = objects_.find(meta.key);
  return found == objects_.end() || found->second.uid != meta.uid ? nullptr : &found->second;
}

const ContestedFields::Object* ContestedFields::find(const kube::ObjectMeta& meta) const {
  const auto found = objects_.find(meta.key);
  return found == objects_.end() || found->second.uid != meta.uid ? nullptr : &found->second;
}

// What nobody has disputed for longer than a park lasts is undisputed.
void ContestedFields::drop_old(Object& object) const {
  const Moment now = clock_.now();
  std::erase_if(object.fields, [now](const auto& each) {
    const Field& field = each.second;
    return later(field.touched, 2 * kParkedFor) < now;
  });
}

bool ContestedFields::is_parked(const Field& field) const {
  return field.dispute.is_parked(clock_.now());
}

}  // namespace isthmus::controllers
