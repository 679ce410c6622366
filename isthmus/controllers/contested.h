// Fields of ours that somebody else keeps writing over. We put a field right twice, and then it is
// parked, as dispute.h says, with an event that names the other.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "isthmus/base/clock.h"
#include "isthmus/base/metrics.h"
#include "isthmus/base/result.h"
#include "isthmus/base/task.h"
#include "isthmus/controllers/dispute.h"
#include "isthmus/controllers/notice.h"
#include "isthmus/kube/api/managed_fields.h"
#include "isthmus/kube/api/meta.h"
#include "isthmus/kube/api_door.h"

namespace isthmus::controllers {

// A field and what it should be. Texts are equal where the wishes are; empty: not there at all.
struct Wish {
  kube::FieldPath field;
  std::string wanted;

  friend bool operator==(const Wish&, const Wish&) = default;
};

// How a controller speaks of it.
struct ContestWords {
  std::string controller = {};            // A label of the metrics.
  std::string reason = "FieldContested";  // Of the event.
  std::string advice = "let one of the two writers stop";
};

// A resource; the memory of one controller. Remembers of an object only what was written lately.
class ContestedFields final {
 public:
  ContestedFields(const Clock& clock, Metrics& metrics, ContestWords words);

  // Which of the fields that are not as they should be may be written: the others are parked.
  // `wrong` is all of them that this controller would write of the object; a parked field that is
  // not among them is right again, and forgotten.
  std::vector<Wish> may_write(const kube::ObjectMeta& meta, const std::vector<Wish>& wrong);

  // They were written, and the server has said so.
  void wrote(const kube::ObjectMeta& meta, const std::vector<Wish>& wishes);

  // One notice for each parked field of the object, the same for as long as it is parked.
  std::vector<Notice> notices(const kube::ObjectMeta& meta) const;

  // Reads the object live once for each field that was parked since, to learn who the other is.
  // Without an answer the notice says that it is not known. Errors: cancelled and deadline alone.
  Task<Result<>> learn_writers(kube::ApiDoor& api, kube::ObjectName object);

  // When the first of the object's parked fields gets another try; nullopt: none is parked.
  std::optional<Moment> next_try(const kube::ObjectMeta& meta) const;

  // The object is gone.
  void forget(const kube::ObjectKey& key);

 private:
  struct Field {
    std::string wanted = {};
    bool stands = false;  // As we wrote it, as far as we know.
    Dispute dispute = {};
    Moment touched = {};
    std::optional<std::string> writer = {};  // In words; nullopt: not asked since it was parked.
  };
  struct Object {
    std::string uid = {};
    std::map<kube::FieldPath, Field> fields = {};
  };

  Object* find(const kube::ObjectMeta& meta);
  const Object* find(const kube::ObjectMeta& meta) const;
  bool may_write(Field& field);
  void drop_old(Object& object) const;
  bool is_parked(const Field& field) const;

  const Clock& clock_;
  const ContestWords words_;
  Counter& parked_;
  std::map<kube::ObjectKey, Object> objects_;
};

// The latest writer of a field in words: "\"kubectl-edit\" (Update at 2026-11-30T07:20:00Z)". One
// that has our own name is called what it is, another manager of ours.
std::string describe_writer(const std::vector<kube::FieldWriter>& writers);

}  // namespace isthmus::controllers
