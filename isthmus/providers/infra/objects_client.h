// What the infrastructure API says of load balancers and target sets of one owner, as values, and
// its refusals as outcomes (answers.h). One call is one request.
//
// An answer about another object than was asked for, or about another owner's, is lost.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "isthmus/base/clock.h"
#include "isthmus/base/ip.h"
#include "isthmus/infra/api/dry_run.h"
#include "isthmus/infra/api/load_balancer.h"
#include "isthmus/infra/api/target_set.h"
#include "isthmus/net/lines.h"
#include "isthmus/net/transport.h"

namespace isthmus::providers::infra {

// Load balancers per page: of 2 KB each, so that reading one page holds up nothing else.
inline constexpr int kBalancersPerPage = 250;

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

  // Ok: it is gone.
  Task<Result<>> remove_target_set(ObjectId id);

  // The lines of a watch from a revision on.
  Task<Result<std::unique_ptr<net::LineReader>>> watch(std::string owner, std::uint64_t from);

 private:
  Task<Result<net::Response>> send(std::string method, std::string target, std::string body = {});
  Task<Result<std::optional<net::Response>>> put_balancer(Wish wish, bool dry_run);

  net::Transport& transport_;
  const Clock& clock_;
};

}  // namespace isthmus::providers::infra
