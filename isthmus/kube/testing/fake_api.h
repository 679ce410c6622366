// An API server in memory, for tests: versions, watches and preconditions behave like a real one's
// (kube-apiserver 1.37, as far as measured), and it can be told to misbehave.
//
//   FakeApi api(world.loop);
//   api.put(Node::resource, R"({"metadata": {"name": "n1"}, "spec": {…}})");
//   api.inject({.verb = Verb::patch, .error = {Outcome::busy, "429"}, .times = 2});
//   …
//   EXPECT_EQ(api.see(Node::resource, {.name = "n1"}).at_pointer("/spec/providerID"), "x://7");
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "isthmus/base/intrusive_list.h"
#include "isthmus/base/json.h"
#include "isthmus/base/scope.h"
#include "isthmus/base/signal.h"
#include "isthmus/kube/api_door.h"

namespace isthmus::kube::testing {

enum class Verb : std::uint8_t { get, list, watch, create, patch, remove };

// Something that goes wrong with the next calls that match.
struct Fault {
  Verb verb = Verb::get;
  std::string plural = {};    // Empty: of any resource.
  Error error = {};           // What the caller gets.
  bool after_effect = false;  // It happens, and only its answer is lost.
  bool hang = false;          // No answer at all, until the caller is cancelled.
  int times = 1;              // Calls until it is gone.
};

class FakeApi final : public ApiDoor {
 public:
  explicit FakeApi(const Clock& clock) : clock_(clock) {}
  ~FakeApi() override;

  // Other people's hands. put() creates, or replaces everything but uid and creation time; it
  // answers the new resourceVersion. erase() removes at once, whatever finalizers there are.
  std::string put(const ResourceType& resource, std::string_view document);
  void erase(const ResourceType& resource, const ObjectKey& key);

  // The object as it is now, or null.
  json::value see(const ResourceType& resource, const ObjectKey& key) const;
  std::vector<ObjectKey> keys(const ResourceType& resource) const;

  // Misbehaviour. A later fault waits until earlier ones for the same call are used up.
  void inject(Fault fault) { faults_.push_back(std::move(fault)); }
  void heal() { faults_.clear(); }
  Duration latency{};            // Of every call.
  std::size_t page_max = 0;      // Pages are no larger than this, whatever is asked; 0: as asked.
  bool can_stream_lists = true;  // Else a streaming list is invalid, as before Kubernetes 1.27.
  bool withholds_initial_end = false;
  bool frozen = false;  // Watches are open and say nothing. Call bookmark() to thaw.

  // Called when a call arrives, before it takes effect: the moment for another writer.
  std::function<void(Verb, const ObjectName&)> on_call;

  // Watches.
  void bookmark();             // To all of them, at the current version.
  void end_watches();          // In order.
  void break_watches();        // In the middle.
  void say(std::string line);  // Any line, to all of them.
  void refuse_watches(int code, std::string_view reason);  // An ERROR line, then the end.
  std::size_t watches() const { return open_; }

  // Forgets the past: versions before the current one are gone (410).
  void compact() { oldest_ = version_; }

  // Its store is replaced by a backup without anything that a test put there; versions go back.
  void restore_backup();
  std::string version() const { return std::to_string(version_); }

  // How many calls have arrived.
  unsigned calls(Verb verb, std::string_view plural = {}) const;

  Task<Result<std::string>> get(ObjectName object) override;
  Task<Result<std::string>> list(ListRequest request) override;
  Task<Result<std::unique_ptr<WatchStream>>> watch(WatchRequest request) override;
  Task<Result<std::string>> create(CreateRequest request) override;
  Task<Result<std::string>> patch(PatchRequest request) override;
  Task<Result<>> remove(DeleteRequest request) override;

 private:
  class Stream;
  struct Past {
    std::uint64_t version;
    std::string_view plural;
    ObjectKey key;
    std::string line;
  };
  struct Rest {  // What is left of a list as it was at that version.
    std::uint64_t version;
    std::deque<json::value> items;
  };
  using Objects = std::map<ObjectKey, json::object>;

  Task<Result<>> arrive(Verb verb, ObjectName object);
  std::optional<Fault> fault_of(Verb verb, std::string_view plural, bool after_effect);
  Result<std::string> answer(Verb verb, const ResourceType& resource, std::string text);
  void store(std::string_view type, const ResourceType& resource, const ObjectKey& key,
             json::object object);
  Result<json::object*> live(const ObjectName& object);
  Result<std::string> patched(const PatchRequest& request);
  Result<> removed(const DeleteRequest& request);
  void publish(const ResourceType& resource, const ObjectKey& key, std::string line);
  std::string bookmark_line(const ResourceType& resource, bool initial_end) const;
  template <class Act>
  void each_stream(Act act);

  const Clock& clock_;
  std::map<std::string, Objects, std::less<>> objects_;  // By plural.
  std::deque<Past> past_;
  std::uint64_t version_ = 100;
  std::uint64_t oldest_ = 0;
  std::uint64_t next_uid_ = 1;
  std::map<std::string, Rest> rests_;  // By continue token.
  std::uint64_t next_token_ = 1;
  std::vector<Fault> faults_;
  std::map<std::pair<Verb, std::string>, unsigned> calls_;
  ListNode streams_;
  std::size_t open_ = 0;
};

}  // namespace isthmus::kube::testing
