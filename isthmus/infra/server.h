// The backend as one object: what `isthmus infra` runs, without sockets and signals.
//
//   Config config = parse_config(text, path, mistakes);
//   auto server = TRY(open_server(config, doors, version));  // checks every file, opens the store
//   CO_TRY(co_await server->start());                        // loads the inventory
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
#include "isthmus/infra/config.h"
#include "isthmus/net/http_server.h"

namespace isthmus::infra {

// How much of the history lists and watches can go back to: at 2 KB a change 20 MB, and more than a
// client that reads at all falls behind. Forgotten every kCompactionPeriod.
inline constexpr std::uint64_t kHistoryRevisions = 10'000;
inline constexpr Duration kCompactionPeriod = std::chrono::minutes(1);

// They outlive the server.
struct ServerDoors {
  Loop& loop;
  Random& random;
  Files& files;
  Metrics& metrics;
  Logger& log;
};

class Server {
 public:
  virtual ~Server() = default;

  // Takes in the inventory file. invalid: what contradicts the machines the store knows, by line,
  // and nothing may be started; else an error of the store.
  virtual Task<Result<>> start() = 0;

  // Keeps inventory and tokens as their files say, and the history short. Ends with its scope only,
  // with that scope's reason.
  virtual Task<Result<>> run() = 0;

  // Has run() read the inventory and the tokens now, whether they look changed or not.
  virtual void reload() = 0;

  virtual net::HttpHandler& handler() = 0;
};

// Checks what the configuration names before anything is opened or made: invalid with every mistake
// of all token files, the certificate and the inventory together. Then opens the store, with its
// errors (sqlite_store.h: invalid, busy, lost). `version` is shown to people.
Result<std::unique_ptr<Server>> open_server(const Config& config, ServerDoors doors,
                                            std::string version);

}  // namespace isthmus::infra
