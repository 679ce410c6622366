#include "isthmus/providers/infra/route_tables.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "isthmus/infra/api/watch_event.h"
#include "isthmus/providers/infra/pages.h"
#include "isthmus/providers/infra/translate_routes.h"
#include "isthmus/providers/infra/watch_stream.h"

namespace isthmus::providers::infra {

namespace api = isthmus::infra::api;

namespace {

// From lines to what becomes of one table.
class TableReader final : public WatchReader {
 public:
  TableReader(ObjectId id, const std::string& scheme, cloud::RouteTables::Tell tell)
      : id_(std::move(id)), scheme_(scheme), tell_(std::move(tell)) {}

  Result<> take(std::string_view line, Moment) override {
    api::WatchEvent event = TRY(api::decode_watch_event(line));
    if (event.type == api::WatchEvent::Type::problem) {
      return fail(Outcome::lost, "the watch has ended: " + to_sentence(*event.problem));
    }
    if (!event.route_table || event.route_table->metadata.name != id_.name) return {};
    if (event.route_table->metadata.owner != id_.owner) {
      return fail(Outcome::lost, fmt::format("asked about {}, and was told of {}'s route table",
                                             id_.owner, event.route_table->metadata.owner));
    }
    if (event.type == api::WatchEvent::Type::removed) {
      tell_(std::nullopt);
    } else {
      tell_(to_cloud(scheme_, *std::move(event.route_table)));
    }
    return {};
  }

 private:
  const ObjectId id_;
  const std::string& scheme_;
  const cloud::RouteTables::Tell tell_;
};

// What the server refused, among what stands.
void add_refused(cloud::RouteTableState& state, std::vector<cloud::RouteState> refused) {
  for (cloud::RouteState& route : refused) state.routes.push_back(std::move(route));
  std::ranges::sort(state.routes, {}, &cloud::RouteState::destination);
}

}  // namespace

std::unexpected<Error> InfraRouteTables::noted(Error error) {
  if (error.outcome == Outcome::denied) handshake_.forget();
  return std::unexpected(std::move(error));
}

Task<Result<ObjectId>> InfraRouteTables::id_of(std::string name) {
  std::string owner = CO_TRY(co_await handshake_.owner(api::capability::route_tables));
  co_return ObjectId{std::move(owner), std::move(name)};
}

Task<Result<cloud::RouteTableState>> InfraRouteTables::ensure(cloud::RouteTableSpec spec) {
  const ObjectId id = CO_TRY(co_await id_of(spec.name));
  std::vector<cloud::RouteState> refused;
  for (int puts = 0; puts < kPutsMax; ++puts) {
    Result<ObjectsClient::PutRoutes> put =
        co_await client_.put_route_table(id, api::encode_input(to_api(spec)));
    if (!put) co_return noted(std::move(put).error());
    if (put->table) {
      cloud::RouteTableState state = to_cloud(scheme_, *std::move(put->table));
      add_refused(state, std::move(refused));
      co_return state;
    }
    CO_TRY(take_out(put->refused, spec, refused));
  }
  co_return fail(Outcome::lost, "the server finds other routes wrong each time it is asked");
}

Task<Result<cloud::RouteTableState>> InfraRouteTables::get(std::string name) {
  ObjectId id = CO_TRY(co_await id_of(std::move(name)));
  Result<api::RouteTable> found = co_await client_.route_table(std::move(id));
  if (!found) co_return noted(std::move(found).error());
  co_return to_cloud(scheme_, *std::move(found));
}

Task<Result<>> InfraRouteTables::release(std::string name) {
  ObjectId id = CO_TRY(co_await id_of(std::move(name)));
  Result<> removed = co_await client_.remove_route_table(std::move(id));
  if (!removed) co_return noted(std::move(removed).error());
  co_return Result<>{};
}

Task<Result<>> InfraRouteTables::follow(std::string name, Tell tell) {
  CO_TRY(co_await handshake_.shake());
  CO_TRY(co_await handshake_.needs(api::capability::load_balancer_watch));
  const ObjectId id = CO_TRY(co_await id_of(std::move(name)));
  std::optional<cloud::RouteTableState> now;
  Result<PagesRead> pages = co_await read_pages<api::RouteTableList>(
      [&](std::string token) { return client_.route_tables(id.owner, std::move(token)); },
      [&](api::RouteTable table) {
        if (table.metadata.owner != id.owner) return false;
        if (table.metadata.name == id.name) now = to_cloud(scheme_, std::move(table));
        return true;
      });
  if (!pages) co_return noted(std::move(pages).error());
  if (pages->completeness != cloud::Completeness::complete) {
    co_return fail(Outcome::lost, "the list of route tables is not complete");
  }
  tell(std::move(now));
  Result<std::unique_ptr<net::LineReader>> lines =
      co_await client_.watch(id.owner, pages->revision);
  if (!lines) {
    // The history does not reach back to the list: list anew.
    Error error = std::move(lines).error();
    if (error.outcome == Outcome::conflict) error.outcome = Outcome::lost;
    co_return noted(std::move(error));
  }
  TableReader reader(id, scheme_, std::move(tell));
  Result<> ended = co_await read_watch(**lines, reader);
  co_return ended;
}

}  // namespace isthmus::providers::infra
