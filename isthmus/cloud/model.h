// What a cloud is made of, in our own words: values that providers answer with and specs that
// controllers ask for. Nothing here has heard of Kubernetes; a Node never gets this far, only what
// was read from it does. Load balancers and routes have files of their own (load_balancer.h,
// route.h).
//
// All of these are values: copyable, comparable, and constant once they were answered.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "isthmus/base/result.h"

namespace isthmus::cloud {

// The name of a machine for ever: `scheme://id`. The scheme says whose it is, the id is the
// provider's own business and is opaque to everyone else (other clouds put slashes in it).
struct ProviderId {
  std::string scheme = {};
  std::string id = {};

  friend auto operator<=>(const ProviderId&, const ProviderId&) = default;
};

// `scheme://id`, the form written to a Node's spec.providerID.
std::string to_string(const ProviderId& id);

// The inverse. invalid: no "://", or nothing before or after it.
Result<ProviderId> parse_provider_id(std::string_view text);

enum class AddressType : std::uint8_t {
  hostname,
  internal_ip,
  external_ip,
  internal_dns,
  external_dns,
};

// "Hostname", "InternalIP", "ExternalIP", "InternalDNS", "ExternalDNS": the words that inventories,
// providers' APIs and status.addresses have in common.
std::string_view to_string(AddressType type);
std::optional<AddressType> parse_address_type(std::string_view text);

struct Address {
  AddressType type = AddressType::internal_ip;
  std::string address = {};  // As the cloud spells it; it is written to the Node unchanged.

  friend bool operator==(const Address&, const Address&) = default;
};

// Whether the machine runs. A stopped machine still exists; unknown is a legal, honest answer, and
// the one for every state that a provider does not recognise.
enum class Power : std::uint8_t { unknown, running, stopped };

// Whether the machine exists. `absent` leads to the deletion of its Node, so a provider answers it
// only for a machine that its API positively calls retired or terminated; a machine that merely
// stopped being mentioned is `unknown`.
enum class Presence : std::uint8_t { unknown, present, absent };

std::string_view to_string(Power power);
std::string_view to_string(Presence presence);

struct Instance {
  ProviderId provider_id = {};          // Never empty: an answer without one is `lost`.
  std::vector<std::string> names = {};  // What it is called; the first is what people are shown.
  std::string system_uuid = {};         // SMBIOS UUID, any case; empty: not known.
  std::vector<Address> addresses = {};  // In the order in which a Node shows them.
  std::string type = {};                // Empty here and below: do not set.
  std::string region = {};
  std::string zone = {};
  std::map<std::string, std::string> labels = {};  // Further labels for its Node, unchecked.
  Power power = Power::unknown;
  Presence presence = Presence::unknown;

  // For people: the first name and the provider id.
  std::string describe() const;

  friend bool operator==(const Instance&, const Instance&) = default;
};

// What is known of a machine whose provider id is not. Empty fields say nothing; a query without
// any asks for all machines.
struct InstanceQuery {
  std::string system_uuid = {};
  std::string name = {};
  std::vector<std::string> internal_ips = {};

  bool asks_for_all() const { return system_uuid.empty() && name.empty() && internal_ips.empty(); }
  friend bool operator==(const InstanceQuery&, const InstanceQuery&) = default;
};

// Only `complete` may be read as "what is not here is not there". A page that was missed, a zone
// that did not answer, a total that changed while paging: partial.
enum class Completeness : std::uint8_t { partial, complete };

template <class T>
struct Listing {
  std::vector<T> items = {};
  Completeness completeness = Completeness::partial;

  friend bool operator==(const Listing&, const Listing&) = default;
};

enum class Protocol : std::uint8_t { tcp, udp };

struct FirewallSpec {
  struct Rule {
    Protocol protocol = Protocol::tcp;
    std::uint16_t first_port = 0;
    std::uint16_t last_port = 0;
    std::vector<std::string> sources = {};  // CIDRs.
    friend bool operator==(const Rule&, const Rule&) = default;
  };

  std::string name = {};
  std::vector<ProviderId> instances = {};
  std::vector<Rule> rules = {};  // What is not allowed here is refused.

  friend bool operator==(const FirewallSpec&, const FirewallSpec&) = default;
};

}  // namespace isthmus::cloud
