// The records of a load balancer and of its status (ledger_records.h) as they lie in the store.
#pragma once

#include <string>
#include <string_view>

#include "isthmus/base/result.h"
#include "isthmus/infra/ledger_records.h"

namespace isthmus::infra {

// Inline targets are most of a large record, so each is one short text, and 5,000 of them fit in a
// value of the store. Health of single targets is not kept: it is asked of whoever checks.
std::string encode(const BalancerRecord& record);
std::string encode(const StatusRecord& record);

// lost, as for the other records.
Result<BalancerRecord> decode_balancer_record(std::string_view value, Revision revision);
Result<StatusRecord> decode_status_record(std::string_view value, Revision revision);

}  // namespace isthmus::infra
