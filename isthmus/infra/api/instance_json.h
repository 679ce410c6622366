// The JSON form of an Instance as a part of larger documents, and the words in it.
#pragma once

#include <optional>
#include <string_view>

#include "isthmus/base/json.h"
#include "isthmus/infra/api/instance.h"

namespace isthmus::infra::api {

// Nothing for a word that is not in the table of the enum.
std::optional<AddressType> address_type_of(std::string_view word);
std::optional<Power> power_of(std::string_view word);
std::optional<State> state_of(std::string_view word);

json::object to_json(const Instance& instance);

// With the tolerance of decode_instance; what is wrong goes to the reader's Mistakes.
Instance read_instance(JsonReader document);

}  // namespace isthmus::infra::api
