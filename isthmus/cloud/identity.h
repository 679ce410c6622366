// When two things that are written differently name the same machine. Matching, the cache's indexes
// and providers that search all compare by these keys, so that they never disagree.
#pragma once

#include <string>
#include <string_view>

#include "isthmus/cloud/model.h"

namespace isthmus::cloud {

// Equal for the same SMBIOS UUID in any case, with dashes or without, because a kubelet whose
// firmware has none reports the machine-id, and in either byte order of its first three fields,
// because firmware before SMBIOS 2.6 reports them reversed. Empty for an empty text.
std::string uuid_key(std::string_view uuid);

// Host names and so Node names do not know case.
std::string name_key(std::string_view name);

// Equal for the same address ("::1", "0:0::1"); a text that is no address is its own key.
std::string ip_key(std::string_view address);

// Whether the machine has anything that the query asks for; a query for all matches every machine.
bool matches(const Instance& machine, const InstanceQuery& query);

}  // namespace isthmus::cloud
