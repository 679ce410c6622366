// The records of a route table and of its status (ledger_records.h) as they lie in the store.
#pragma once

#include <string>
#include <string_view>

#include "isthmus/base/result.h"
#include "isthmus/infra/ledger_records.h"

namespace isthmus::infra {

// Each route is one short text, so that 5,000 of them, with uids of 36 bytes and next hops, take
// 400 KB of the 512 KiB that a value may have. In a status only those are told that are not
// applied, and with a message only so many; each is 200 bytes.
inline constexpr std::size_t kRouteMessagesMax = 500;
inline constexpr std::size_t kRouteMessageBytesMax = 200;

std::string encode(const RouteTableRecord& record);
std::string encode(const RouteStatusRecord& record);

// lost, as for the other records.
Result<RouteTableRecord> decode_route_table_record(std::string_view value, Revision revision);
Result<RouteStatusRecord> decode_route_status_record(std::string_view value, Revision revision);

// The status without the routes that are applied, and with no more messages than fit.
api::RouteTableStatus without_applied(api::RouteTableStatus status);

}  // namespace isthmus::infra
