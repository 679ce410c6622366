// What the infrastructure API says of load balancers, target sets and route tables of one owner, as
// values, and its refusals as outcomes (answers.h). One call is one request.
//
// An answer about another object than was asked for, or about another owner's, is lost.
//
// What was read or written once is written over only as it was seen (If-Match): a write that was
// long on its way, of a manager that has lost its lease meanwhile, changes nothing any more. A load
// balancer or a target set that somebody else has written meanwhile is looked at and then written;
// a route table is not: what is asked for there was decided by what stood before, or that none did
// (If-None-Match).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "isthmus/base/clock.h"
#include "isthmus/base/ip.h"
#include "isthmus/infra/api/dry_run.h"
#include "isthmus/infra/api/load_balancer.h"
#include "isthmus/infra/api/route_table.h"
#include "isthmus/infra/api/target_set.h"
#include "isthmus/net/lines.h"
#include "isthmus/net/transport.h"
#include "isthmus/providers/infra/seen_versions.h"

namespace isthmus::providers::infra {

// Load balancers per page: of 2 KB each, so that reading one page holds up nothing else.
inline constexpr int kBalancersPerPage = 250;

// Route tables per page: an owner has a handful, of up to 1 MB each.
inline constexpr int kRouteTablesPerPage = 4;

// A load balancer with 5,000 targets of its own in each of two groups is 1.3 MB; a line of a watch
// that is six times as long is none.
inline constexpr std::size_t kEventBytesMax = 8 * 1024 * 1024;

// Whose object, and which.
struct ObjectId {
  std::string owner;
  std::string name;
};

// A resource; the doors outlive it. Every call can also fail as Transport::call does, and with lost
// where the answer cannot be understood.
class ObjectsClient final {
 public:
  ObjectsClient(net::Transport& transport, const Clock& clock)
      : transport_(transport), clock_(clock) {}

  // What a load balancer should be, and the addresses it would like to have again.
  struct Wish {
    ObjectId id;
    std::string body;  // infra::api::encode_input
    std::vector<IpAddress> preferred = {};
  };

  // nullopt: the server has never heard of preferred addresses, and did nothing. conflict: also
  // where it refers to a target set that is not there.
  Task<Result<std::optional<isthmus::infra::api::LoadBalancer>>> put(Wish wish);

  // What put would do; nothing is stored.
  Task<Result<std::optional<isthmus::infra::api::DryRun>>> plan(Wish wish);

  // absent: the server says that there is none of this very name.
  Task<Result<isthmus::infra::api::LoadBalancer>> balancer(ObjectId id);

  // Ok: it is gone, as balancer() says absent. busy: it is being taken down.
  Task<Result<>> remove_balancer(ObjectId id);

  // One page; an empty token asks for the first. conflict: the revision of the pages before is
  // gone, start over.
  Task<Result<isthmus::infra::api::LoadBalancerList>> balancers(std::string owner,
                                                                std::string continue_token);

  Task<Result<isthmus::infra::api::TargetSet>> put_target_set(ObjectId id, std::string body);

  // What put_target_set would do; nothing is stored.
  Task<Result<isthmus::infra::api::DryRun>> plan_target_set(ObjectId id, std::string body);

  // Ok: it is gone.
  Task<Result<>> remove_target_set(ObjectId id);

  // What came of a route table that was put: it stands, or the server would take it but for single
  // routes, and nothing was stored.
  struct PutRoutes {
    std::optional<isthmus::infra::api::RouteTable> table = {};
    std::map<std::size_t, std::string> refused = {};  // By place in the body: what is wrong.
  };
  // conflict: also where it is not as it was last read or written here, or stands though it did not
  // when it was read, and nothing was stored.
  Task<Result<PutRoutes>> put_route_table(ObjectId id, std::string body);

  // absent: the server says that there is none of this very name.
  Task<Result<isthmus::infra::api::RouteTable>> route_table(ObjectId id);

  // Ok: it is gone. busy: its routes are being taken away.
  Task<Result<>> remove_route_table(ObjectId id);

  // One page, as of balancers().
  Task<Result<isthmus::infra::api::RouteTableList>> route_tables(std::string owner,
                                                                 std::string continue_token);

  // The lines of a watch from a revision on.
  Task<Result<std::unique_ptr<net::LineReader>>> watch(std::string owner, std::uint64_t from);

 private:
  Task<Result<net::Response>> send(std::string method, std::string target, std::string body = {},
                                   net::Headers expected = {});
  net::Headers expected(const std::string& method, const std::string& path) const;
  Task<Result<net::Response>> look(std::string path);
  Task<Result<net::Response>> change(std::string method, std::string path, std::string target,
                                     std::string body = {});
  Task<Result<net::Response>> change_seen(std::string method, std::string path, std::string target,
                                          std::string body);
  Task<Result<std::optional<net::Response>>> put_balancer(Wish wish, bool dry_run);

  // What is said alike of every kind of object that takes a while to go.
  template <class Object>
  struct Kind;
  static const Kind<isthmus::infra::api::LoadBalancer> kBalancerKind;
  static const Kind<isthmus::infra::api::RouteTable> kRouteTableKind;
  template <class Object>
  Task<Result<Object>> find(Kind<Object> kind, ObjectId id);
  template <class Object>
  Task<Result<>> remove(Kind<Object> kind, ObjectId id);
  Task<Result<std::string>> page(std::string_view collection, std::string owner, int limit,
                                 std::string continue_token);

  net::Transport& transport_;
  const Clock& clock_;
  SeenVersions seen_;
};

}  // namespace isthmus::providers::infra
