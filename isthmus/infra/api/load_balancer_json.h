// The JSON form of a load balancer, whole and in its parts, for larger documents.
#pragma once

#include <optional>
#include <string_view>

#include "isthmus/base/json.h"
#include "isthmus/infra/api/load_balancer.h"

namespace isthmus::infra::api {

// Nothing for a word that is not in the table of the enum.
std::optional<IpFamily> family_of(std::string_view word);
std::optional<Affinity> affinity_of(std::string_view word);
std::optional<SourceAddress> source_address_of(std::string_view word);

json::object to_json(const LoadBalancerSpec& spec);
json::object to_json(const LoadBalancerStatus& status);
json::object to_json(const LoadBalancer& balancer);

// With the tolerance of decode_load_balancer; what is wrong goes to the reader's Mistakes.
LoadBalancerSpec read_load_balancer_spec(JsonReader spec);
LoadBalancerStatus read_load_balancer_status(JsonReader status);
LoadBalancer read_load_balancer(JsonReader document);

}  // namespace isthmus::infra::api
