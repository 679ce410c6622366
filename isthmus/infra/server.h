// The backend as one object: what `isthmus infra` runs, without sockets and signals.
//
//   Config config = parse_config(text, path, mistakes);
//   auto server = TRY(open_server(config, path, doors, version));  // checks files, opens the store
//   CO_TRY(co_await server->start());  // loads the inventory and the pools, looks at the host
//   …net::listen(world, address, tls, server->handler()) for each of config.listen…
//   CO_TRY(co_await server->run());                          // beside the listeners, until stopped
//
// With reload() on SIGHUP. Nothing is served before start() has answered ok.
#pragma once

#include <memory>
#include <string>

#include "isthmus/base/files.h"
#include "isthmus/base/log.h"
#include "isthmus/base/loop.h"
#include "isthmus/base/metrics.h"
#include "isthmus/base/random.h"
#include "isthmus/base/result.h"
#include "isthmus/base/task.h"
#include "isthmus/infra/balancing.h"
#include "isthmus/infra/config.h"
#include "isthmus/net/http_server.h"

namespace isthmus::infra {

// How much of the history lists and watches can go back to, which is more than a client that reads
// at all falls behind: so many revisions, at 2 KB each 20 MB, and no older ones. The age is what
// bounds large changes that come one after the other: a load balancer of 5,000 inline targets that
// is put each second would be 3 GB. Forgotten every kCompactionPeriod.
inline constexpr std::uint64_t kHistoryRevisions = 10'000;
inline constexpr Duration kHistoryAge = std::chrono::minutes(10);
inline constexpr Duration kCompactionPeriod = std::chrono::minutes(1);

// They outlive the server.
struct ServerDoors {
  Loop& loop;
  Random& random;
  Files& files;
  Metrics& metrics;
  Logger& log;
  const HostDoors* host = nullptr;  // Needed only where the configuration names a host.
};

class Server {
 public:
  virtual ~Server() = default;

  // Takes in the inventory file and the pools, and looks at the host. invalid: what contradicts
  // what the store knows (a uid that is retired, a pool that is gone while its addresses are held),
  // by line, and nothing may be started; else an error of the store or of Reconciler::start.
  virtual Task<Result<>> start() = 0;

  // Keeps inventory, tokens and what may change of the configuration as their files say, the load
  // balancers as they should be, and the history short. Ends with its scope only, with that scope's
  // reason.
  virtual Task<Result<>> run() = 0;

  // Has run() read all files now, whether they look changed or not.
  virtual void reload() = 0;

  virtual net::HttpHandler& handler() = 0;
};

// Checks what the configuration names before anything is opened or made: invalid with every mistake
// of all token files, the certificate and the inventory together, and where a host does not forward
// packets. Then opens the store, with its errors (sqlite_store.h: invalid, busy, lost), and the
// host, if there is one, with its own (host.h: denied, unsupported). `path` is the file the
// configuration was read from, which is looked at again while the server runs; empty: none.
// `version` is shown to people.
Result<std::unique_ptr<Server>> open_server(const Config& config, const std::string& path,
                                            ServerDoors doors, std::string version);

}  // namespace isthmus::infra
