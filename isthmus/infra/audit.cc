#include "isthmus/infra/audit.h"

#include <string>

namespace isthmus::infra {

void audit(const Exchange& exchange, const Written& written, Logger& log, Metrics& metrics) {
  const Route& route = exchange.route;
  if (route.uid.empty()) {
    log.info("audit", {{"by", exchange.caller.name},
                       {"verb", exchange.request.method},
                       {"kind", written.kind},
                       {"owner", route.owner},
                       {"name", route.name},
                       {"generationBefore", written.generation_before},
                       {"generation", written.generation},
                       {"revision", written.revision},
                       {"requestID", exchange.id}});
  } else {
    log.info("audit", {{"by", exchange.caller.name},
                       {"verb", exchange.request.method},
                       {"kind", written.kind},
                       {"uid", route.uid},
                       {"generation", written.generation},
                       {"revision", written.revision},
                       {"requestID", exchange.id}});
  }
  metrics
      .counter("infra_writes_total", "Writes carried out, by kind of object and verb.",
               {{"kind", std::string(written.kind)}, {"verb", exchange.request.method}})
      .add();
}

}  // namespace isthmus::infra
