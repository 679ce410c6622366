// What is written to a Service: the finalizer and the ingress of its status, each in one patch that
// names the uid it was thought out for. All through the subresource status, as upstream does: its
// roles allow no other.
//
// What was written, or read live after a conflict, is known here before the watch tells it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "isthmus/controllers/newest.h"
#include "isthmus/kube/api/decode.h"
#include "isthmus/kube/api_door.h"
#include "isthmus/kube/store.h"

namespace isthmus::controllers {

using ServicePtr = kube::Snapshot<kube::Service>;

// A resource; the doors outlive it.
class ServiceWrites final {
 public:
  ServiceWrites(kube::Store<kube::Service>& services, kube::ApiDoor& api,
                kube::Projection projection);

  // The newest snapshot that we know; null: there is none, or it went with its last finalizer,
  // which we took away.
  ServicePtr newest(const kube::ObjectKey& key) const;

  // What became of a write. Done: the Service as written, null where that was the end of it. Not
  // done, because the Service is no longer what was decided about: as it is live, null if it is
  // gone.
  struct Written {
    bool done = false;
    ServicePtr service = {};
  };

  // Errors: those of the door; invalid only where the server refuses a Service that has not changed
  // meanwhile, lost where another Service answered. Cut off, the write has happened or not, and may
  // be repeated.
  Task<Result<Written>> add_finalizer(ServicePtr service);
  Task<Result<Written>> remove_finalizer(ServicePtr service);
  Task<Result<Written>> publish(ServicePtr service, std::vector<kube::LoadBalancerIngress> ingress);

  // As the API server has it now; null: it says that there is none of that name.
  Task<Result<ServicePtr>> read_live(kube::ObjectKey key);

 private:
  Task<Result<Written>> patch(ServicePtr service, kube::Patch patch);

  kube::ApiDoor& api_;
  Newest<kube::Service> newest_;
  std::map<kube::ObjectKey, std::string> ended_;  // Uids of what the store still shows.
  kube::Decoder decoder_;
};

}  // namespace isthmus::controllers
