// A machine as the infrastructure API speaks of it, and its JSON form.
//
// The document is openapi.yaml beside this file; these are its schemas Instance and InstanceList as
// values. Both ends use them: the server writes what the provider reads. The C++ form is flat, the
// JSON form is {kind, metadata, spec, status} like every object of the API.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "isthmus/base/clock.h"
#include "isthmus/base/result.h"

namespace isthmus::infra::api {

enum class AddressType : std::uint8_t {
  internal_ip,
  external_ip,
  hostname,
  internal_dns,
  external_dns
};

// Unknown is what a machine's power is until somebody has seen it; it is never "stopped".
enum class Power : std::uint8_t { unknown, running, stopped };

// Retired is final: the uid names no machine any more and never will again.
enum class State : std::uint8_t { active, retired };

// What the inventory knows of a machine.
enum class Presence : std::uint8_t {
  present,  // The inventory names it.
  unknown,  // It was named once and no longer is. It may well run: nothing may be deleted for this.
  absent,   // Retired, or deleted through the API: authoritative.
};

// The words of the Kubernetes Node ("InternalIP"), and the lower-case words of the API.
std::string_view to_string(AddressType type);
std::string_view to_string(Power power);
std::string_view to_string(State state);
std::string_view to_string(Presence presence);

struct Address {
  AddressType type = AddressType::internal_ip;
  std::string address;

  friend bool operator==(const Address&, const Address&) = default;
};

// Empty strings are "not said". `revision` is the store's revision of the last change of any kind,
// `generation` counts changes of what the writer said (metadata and spec), and is 1 at first.
struct Instance {
  std::string uid;
  std::string name;
  std::vector<Address> addresses;  // In the writer's order.
  std::string type;
  std::string region;
  std::string zone;
  std::map<std::string, std::string> labels;
  std::string system_uuid;
  State state = State::active;
  Power power = Power::unknown;
  Presence presence = Presence::present;
  WallTime last_confirmed_at;  // When the inventory last vouched for it.
  std::uint64_t revision = 0;
  std::uint64_t generation = 0;

  friend bool operator==(const Instance&, const Instance&) = default;
};

// One page. All pages of a list are read at the same revision; an empty continue_token is the end,
// and only pages up to the end are the complete list.
struct InstanceList {
  std::vector<Instance> items;  // Ordered by uid.
  std::uint64_t revision = 0;
  std::string continue_token;
  std::size_t not_understood = 0;  // Of a page that was read: items left out of it.

  friend bool operator==(const InstanceList&, const InstanceList&) = default;
};

std::string encode(const Instance& instance);
std::string encode(const InstanceList& list);

// Reads an answer of the server, which may be newer or somebody else's: members we do not know are
// passed over, and so are addresses of a type we do not know; a power or presence we do not know is
// `unknown`, a state we do not know is `active`, because only "retired" ends a machine.
//
// Lost: not JSON, not this kind, a required member (uid, name, presence, revision) missing or
// ill-typed, a uid or name that breaks its rule (rules.h; a uid goes into a providerID, which
// nobody can change later), or a state and a presence that contradict each other.
//
// An item of a list that would be lost by itself is left out and counted, so that one bad machine
// does not hide all others: such a page proves nothing about who is not in it.
Result<Instance> decode_instance(std::string_view json);
Result<InstanceList> decode_instance_list(std::string_view json);

}  // namespace isthmus::infra::api
