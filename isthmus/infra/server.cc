#include "isthmus/infra/server.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "isthmus/base/scope.h"
#include "isthmus/base/signal.h"
#include "isthmus/infra/access.h"
#include "isthmus/infra/config_file.h"
#include "isthmus/infra/http_api.h"
#include "isthmus/infra/instances.h"
#include "isthmus/infra/inventory_file.h"
#include "isthmus/infra/store/sqlite_store.h"
#include "isthmus/infra/unnamed_owners.h"
#include "isthmus/net/tls.h"

namespace isthmus::infra {
namespace {

// A chain of ten certificates with long names stays far below this.
constexpr std::size_t kPemBytesMax = 1024 * 1024;

// Reports every call of the store: how long it held up everything else.
StoreObserver observe(Metrics& metrics) {
  std::map<std::string, Histogram*, std::less<>> calls;
  for (const char* call : {"read", "commit", "watch", "compact"}) {
    calls[call] = &metrics.histogram("infra_store_call_duration_seconds",
                                     "How long calls of the store blocked the program.",
                                     exponential_buckets(0.0001, 4, 8), {{"call", call}});
  }
  return [calls = std::move(calls)](std::string_view call, Duration took) {
    auto found = calls.find(call);
    ISTHMUS_ASSERT(found != calls.end(), "every call of the store has its series");
    found->second->observe(took);
  };
}

// The inventory by itself, without the machines the store knows.
void check_inventory(Files& files, const std::string& path, Mistakes& mistakes) {
  if (path.empty()) return;
  Result<std::string> text = files.read(path, kInventoryBytesMax);
  if (!text) return mistakes.add("inventory", text.error().message);
  YamlMistakes found;
  parse_inventory(*text, found);
  found.add_to(mistakes, path);
}

// The listeners read the pair again when they start; a bad one should be told with the rest.
void check_certificate(Files& files, const std::optional<TlsFiles>& paths, Mistakes& mistakes) {
  if (!paths) return;
  Result<std::string> certificate = files.read(paths->certificate, kPemBytesMax);
  Result<std::string> key = files.read(paths->private_key, kPemBytesMax);
  if (!certificate) mistakes.add("tls.certFile", certificate.error().message);
  if (!key) mistakes.add("tls.keyFile", key.error().message);
  if (!certificate || !key) return;
  Result<> good = net::check(net::ServerTls{std::move(*certificate), Secret(std::move(*key))});
  if (!good) mistakes.add("tls", good.error().message);
}

class OpenServer final : public Server {
 public:
  // `host` is nullptr where the configuration names none.
  OpenServer(const Config& config, const std::string& path, const ServerDoors& doors,
             std::unique_ptr<Store> store, std::unique_ptr<Host> host, Access access,
             std::string version)
      : doors_(doors),
        store_(std::move(store)),
        access_(std::move(access)),
        instances_(*store_, doors.loop),
        balancing_(open_balancing(config, std::move(host))),
        api_(api_parts(config, std::move(version))) {
    if (path.empty()) return;
    config_file_.emplace(doors.files, path, config, access_, balancing_.get(), doors.loop,
                         doors.metrics, doors.log, [this] { tell_unnamed_owners(); });
  }

  Task<Result<>> start() override;
  Task<Result<>> run() override;
  void reload() override { reload_asked_.set(); }
  net::HttpHandler& handler() override { return api_; }

 private:
  const InventoryFile* open_inventory(const Config& config) {
    if (config.inventory.empty()) return nullptr;
    return &inventory_.emplace(doors_.files, config.inventory, instances_, doors_.loop,
                               doors_.metrics, doors_.log);
  }
  std::unique_ptr<Balancing> open_balancing(const Config& config, std::unique_ptr<Host> host) {
    if (host == nullptr) return nullptr;
    const Balancing::Parts parts{*store_, doors_.loop, doors_.random, doors_.metrics, doors_.log};
    auto balancing =
        std::make_unique<Balancing>(*config.host, parts, *doors_.host, std::move(host));
    balancing->ledger().set_machines([this] { return instances_.remembered(); });
    return balancing;
  }
  HttpApi::Parts api_parts(const Config& config, std::string version);
  Task<Result<>> load_inventory();
  void tell_unnamed_owners();
  Task<Result<>> reload_when_asked();
  Task<Result<>> keep_history_short();

  ServerDoors doors_;
  std::unique_ptr<Store> store_;
  Access access_;
  Instances instances_;
  std::optional<InventoryFile> inventory_;
  std::unique_ptr<Balancing> balancing_;
  std::optional<ConfigFile> config_file_;
  std::optional<std::string> told_unnamed_;  // As it was last told.
  HttpApi api_;
  Signal reload_asked_;
};

HttpApi::Parts OpenServer::api_parts(const Config& config, std::string version) {
  HttpApi::Parts parts{.store = *store_,
                       .instances = instances_,
                       .access = access_,
                       .inventory = open_inventory(config),
                       .random = doors_.random,
                       .metrics = doors_.metrics,
                       .log = doors_.log,
                       .version = std::move(version)};
  parts.clock = &doors_.loop;
  parts.config_trouble = [this] {
    return config_file_ ? config_file_->trouble() : std::optional<std::string>{};
  };
  parts.restart_needed = [this]() -> std::optional<std::string> {
    if (!config_file_ || config_file_->restart_needed().empty()) return std::nullopt;
    return fmt::format("{}", fmt::join(config_file_->restart_needed(), " "));
  };
  if (balancing_ == nullptr) return parts;
  parts.host_is_ready = [this] { return balancing_->is_ready(); };
  parts.dropping_chains = [this] { return balancing_->dropping_chains(); };
  parts.ledger = &balancing_->ledger();
  parts.view = &balancing_->view();
  parts.driver = config.host->driver == HostConfig::Driver::nft ? "nft" : "announce";
  return parts;
}

Task<Result<>> OpenServer::start() {
  CO_TRY(co_await load_inventory());
  if (config_file_) CO_TRY(co_await config_file_->load());
  if (balancing_) CO_TRY(co_await balancing_->start());
  tell_unnamed_owners();
  co_return Result<>{};
}

// At the start and whenever the configuration is taken in, once for each thing there is to tell.
void OpenServer::tell_unnamed_owners() {
  const LedgerSnapshot* snapshot = balancing_ ? balancing_->ledger().remembered() : nullptr;
  if (snapshot == nullptr) return;
  std::optional<std::string> unnamed = unnamed_owners(*snapshot, access_);
  if (std::exchange(told_unnamed_, unnamed) == unnamed || !unnamed) return;
  doors_.log.warning(
      "owners that the configuration does not name have something here, which is served on and "
      "keeps its addresses: name an owner so, or delete it with the administrator's token",
      {{"owners", *unnamed}});
}

Task<Result<>> OpenServer::load_inventory() {
  if (inventory_) {
    Result<> loaded = co_await inventory_->load();
    co_return loaded;
  }
  // Whatever an earlier inventory file said, no file says it now.
  YamlMistakes none;
  CO_TRY(co_await instances_.load({}, none));
  co_return Result<>{};
}

Task<Result<>> OpenServer::reload_when_asked() {
  while (true) {
    CO_TRY(co_await reload_asked_.wait());
    reload_asked_.clear();
    access_.reload_all();
    // What is wrong with a file is reported by the file, which keeps the last good one.
    if (config_file_) {
      Result<> loaded = co_await config_file_->load();
      if (is_our_own(loaded.outcome())) co_return loaded;
    }
    if (inventory_) {
      Result<> loaded = co_await inventory_->load();
      if (is_our_own(loaded.outcome())) co_return loaded;
    }
  }
}

Task<Result<>> OpenServer::keep_history_short() {
  std::deque<Revision> newest;  // At the end of each of the last periods.
  while (true) {
    CO_TRY(co_await sleep_for(kCompactionPeriod));
    Result<Revision> now = co_await store_->commit({}, {});
    Result<> compacted;
    if (now) {
      newest.push_back(*now);
      const bool reaches_back = newest.size() > kHistoryAge / kCompactionPeriod;
      const Revision too_old = reaches_back ? newest.front() : 0;
      if (reaches_back) newest.pop_front();
      const Revision too_many = *now - std::min(*now, kHistoryRevisions);
      compacted = co_await store_->compact(std::max(too_old, too_many));
    } else {
      compacted = std::unexpected(now.error());
    }
    if (!compacted) doors_.log.error("history not compacted", {{"reason", compacted.error()}});
  }
}

Task<Result<>> OpenServer::run() {
  Scope& here = co_await current_scope();
  Scope scope(here);
  scope.spawn(&Access::keep_loaded, &access_);
  scope.spawn(&OpenServer::keep_history_short, this);
  scope.spawn(&OpenServer::reload_when_asked, this);
  if (inventory_) scope.spawn(&InventoryFile::keep_loaded, &*inventory_);
  if (config_file_) scope.spawn(&ConfigFile::keep_loaded, &*config_file_);
  if (balancing_) scope.spawn(&Balancing::run, balancing_.get());
  Result<> ended = co_await scope.join();
  co_return ended;
}

}  // namespace

Result<std::unique_ptr<Server>> open_server(const Config& config, const std::string& path,
                                            ServerDoors doors, std::string version) {
  Mistakes mistakes;
  Access access(doors.files, doors.log, config);
  access.load(mistakes);
  check_certificate(doors.files, config.tls, mistakes);
  check_inventory(doors.files, config.inventory, mistakes);
  TRY(mistakes.result());
  std::unique_ptr<Store> store = TRY(open_sqlite_store(config.sqlite, observe(doors.metrics)));
  std::unique_ptr<Host> host;
  if (config.host) {
    ISTHMUS_ASSERT(doors.host != nullptr, "a host that is configured has its doors");
    host = TRY(open_checked_host(config, doors.files, *doors.host));
  }
  return std::make_unique<OpenServer>(config, path, doors, std::move(store), std::move(host),
                                      std::move(access), std::move(version));
}

}  // namespace isthmus::infra
