#include "isthmus/kube/correlator.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "isthmus/base/text.h"
#include "isthmus/kube/api/names.h"
#include "isthmus/net/digest.h"

namespace isthmus::kube {
namespace {

constexpr std::size_t kMessagesMax = 10;
constexpr std::size_t kEllipsisBytes = 3;  // What shortened() adds to a text that it cuts.
constexpr Duration kSimilarGapMax = std::chrono::minutes(10);
constexpr double kSpamBurst = 25;
constexpr Duration kSpamRefill = std::chrono::minutes(5);
constexpr std::string_view kCombined = "(combined from similar events): ";

// 120 bits of a digest, of which nobody finds two that are the same; a string has room for as many
// without allocating.
std::string fingerprint(std::string_view text) {
  constexpr std::size_t kBytes = 15;
  return net::sha256(text).substr(0, kBytes);
}

// Joined with a character that no name contains, so that no two lists make the same key.
std::string key_of(const std::string& component, const Note& note) {
  const ObjectReference& about = note.about;
  return fmt::format("{}\n{}\n{}\n{}\n{}\n{}", component, about.api_version, about.kind,
                     to_string(about.key), about.uid, note.type);
}

}  // namespace

std::optional<Event> Correlator::correlate(const std::string& component, const Note& note,
                                           Moment now, WallTime wall_now) {
  const std::string spam_key = key_of(component, note);
  const std::string similar_key = spam_key + "\n" + note.reason;
  // Cut before it is remembered: an entry is kept for long after its event was posted.
  const std::string message = shortened(note.message, kNoteMessageBytesMax - kEllipsisBytes);
  Event event;
  event.message = message;
  std::string told_key = similar_key + "\n" + message;
  if (is_combined(similar_key, message, now)) {
    event.message = std::string(kCombined) + message;
    told_key = similar_key;
  }
  event.message = shortened(event.message, kNoteMessageBytesMax - kEllipsisBytes);

  Told& told = told_.touch(fingerprint(told_key));
  event.last_time = rfc3339(wall_now);
  if (told.count == 0) told = {make_name(note.about.key.name, wall_now), wall_now, 0};
  ++told.count;
  if (is_spam(spam_key, now)) return std::nullopt;

  const std::string& object_space = note.about.key.name_space;
  event.meta.key = {object_space.empty() ? "default" : object_space, told.name};
  event.involved = note.about;
  event.type = note.type;
  event.reason = note.reason;
  event.component = component;
  event.first_time = rfc3339(told.first);
  event.count = told.count;
  return event;
}

// The set never grows beyond the limit: once it is reached, a message that is new stands for any
// other.
bool Correlator::is_combined(const std::string& key, const std::string& message, Moment now) {
  Similar& similar = similar_.touch(fingerprint(key));
  if (now - similar.last > kSimilarGapMax) similar.messages.clear();
  similar.last = now;
  std::string said = fingerprint(message);
  const bool is_new = std::ranges::find(similar.messages, said) == similar.messages.end();
  if (is_new) similar.messages.push_back(std::move(said));
  if (similar.messages.size() < kMessagesMax) return false;
  similar.messages.pop_back();
  return true;
}

bool Correlator::is_spam(const std::string& key, Moment now) {
  Allowance& allowance = allowances_.touch(fingerprint(key));
  const auto passed = std::chrono::duration<double>(now - allowance.as_of) /
                      std::chrono::duration<double>(kSpamRefill);
  allowance.spent = std::max(0.0, allowance.spent - passed);
  allowance.as_of = now;
  if (allowance.spent + 1 > kSpamBurst) return true;
  allowance.spent += 1;
  return false;
}

// Time stands still within a turn, so the number is moved on where two would be the same.
std::string Correlator::make_name(const std::string& object, WallTime wall_now) {
  const std::int64_t now_ns = wall_now.time_since_epoch().count();
  last_name_ns_ = std::max(now_ns, last_name_ns_ + 1);
  std::string name = fmt::format("{}.{:x}", object, last_name_ns_);
  return check_dns_subdomain(name) ? name : random_.uuid();
}

}  // namespace isthmus::kube
